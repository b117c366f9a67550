/* The encoded descriptions of a session, each once. A description's id is its place among all.

   A table of hashes, with the bytes one behind the other to compare with, and no object for any of
   them: the garbage collector has nothing to look at, and to find one touches three places in
   memory. With a dictionary of bytes objects, all of describing took a tenth longer. */

#include "bodies.h"

#include "grow.h"

enum { FIRST_SLOTS = 1024 };

/* Equal bytes are compared afterwards, so this needs to be quick and to spread, and no more. */
static uint32_t
hash_of(const unsigned char *data, size_t size)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t hash = size * factor, word;
    for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
        memcpy(&word, data, sizeof word);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, data, size);
    hash = (hash ^ word) * factor;
    return (uint32_t)(hash >> 32);
}

uint32_t
bodies_find(const Bodies *self, const void *data, size_t size)
{
    if (self->slot_count == 0) {
        return 0;
    }
    uint32_t hash = hash_of(data, size);
    for (size_t at = hash & (self->slot_count - 1); self->slots[at].id != 0;
         at = (at + 1) & (self->slot_count - 1)) {
        const Slot *slot = &self->slots[at];
        if (slot->hash == hash) {
            const Body *body = &self->all[slot->id - 1];
            if (body->size == size && memcmp(self->bytes.data + body->offset, data, size) == 0) {
                return slot->id;
            }
        }
    }
    return 0;
}

static void
put(Slot *slots, size_t count, Slot slot)
{
    size_t at = slot.hash & (count - 1);
    while (slots[at].id != 0) {
        at = (at + 1) & (count - 1);
    }
    slots[at] = slot;
}

/* Room for one more; at most half of the slots are taken. */
static int
make_room(Bodies *self)
{
    if (2 * ((size_t)self->count + 1) <= self->slot_count) {
        return 0;
    }
    size_t count = self->slot_count == 0 ? FIRST_SLOTS : 2 * self->slot_count;
    Slot *slots = PyMem_Calloc(count, sizeof(Slot));
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->slot_count; i++) {
        if (self->slots[i].id != 0) {
            put(slots, count, self->slots[i]);
        }
    }
    PyMem_Free(self->slots);
    self->slots = slots;
    self->slot_count = count;
    return 0;
}

uint32_t
bodies_add(Bodies *self, const void *data, size_t size, const uint32_t *children, Py_ssize_t count)
{
    size_t offset = self->bytes.size;
    if (size > UINT32_MAX || self->count == UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more descriptions than a recording can hold");
        return 0;
    }
    if (make_room(self) < 0
        || stepper_grow(&self->all, &self->room, self->count + 1, sizeof(Body)) < 0
        || stepper_grow(&self->children, &self->children_room, self->children_size + count,
                        sizeof(uint32_t)) < 0
        || pack_raw(&self->bytes, data, size) < 0) {
        return 0;
    }
    self->all[self->count++] =
        (Body){offset, (size_t)self->children_size, (uint32_t)size, (uint32_t)count};
    for (Py_ssize_t i = 0; i < count; i++) {
        self->children[self->children_size++] = children[i];
    }
    uint32_t id = (uint32_t)self->count;
    put(self->slots, self->slot_count, (Slot){id, hash_of(data, size)});
    return id;
}

PyObject *
bodies_take(Bodies *self)
{
    if (self->taken == self->count) {
        Py_RETURN_NONE;
    }
    Buffer out = {NULL, 0, 0};
    int done = pack_array(&out, (size_t)(self->count - self->taken));
    for (Py_ssize_t i = self->taken; done == 0 && i < self->count; i++) {
        const Body *body = &self->all[i];
        done = pack_bytes(&out, self->bytes.data + body->offset, body->size);
    }
    PyObject *taken = done < 0 ? NULL
                               : Py_BuildValue("nny#", self->taken + 1, self->count - self->taken,
                                               (const char *)out.data, (Py_ssize_t)out.size);
    buffer_free(&out);
    if (taken != NULL) {
        self->taken = self->count;
    }
    return taken;
}

void
bodies_free(Bodies *self)
{
    buffer_free(&self->bytes);
    PyMem_Free(self->children);
    PyMem_Free(self->all);
    PyMem_Free(self->slots);
    memset(self, 0, sizeof *self);
}
