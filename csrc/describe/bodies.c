/* The encoded descriptions of a session, each once while it is remembered. A description's id is
   its place among all that there ever were.

   They are remembered for as long as any can be spoken of, and beyond that until they are many: a
   session may last for days, and what one compile describes has little in common with the next.

   A table of hashes, with the bytes one behind the other to compare with, and no object for any of
   them: the garbage collector has nothing to look at, and to find one touches three places in
   memory. With a dictionary of bytes objects, all of describing took a tenth longer. */

#include "describe/bodies.h"

#include "support/grow.h"

enum { FIRST_SLOTS = 1024, MANY = 1 << 20 /* bytes */ };

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
            const Body *body = &self->all[slot->id - self->gone - 1];
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
    if (size > UINT32_MAX || (size_t)self->count + self->gone == UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "more descriptions than a recording can hold");
        return 0;
    }
    if (make_room(self) < 0
        || grow_array(&self->all, &self->room, self->count + 1, sizeof(Body)) < 0
        || grow_array(&self->children, &self->children_room, self->children_size + count,
                      sizeof(uint32_t))
               < 0
        || pack_raw(&self->bytes, data, size) < 0) {
        return 0;
    }
    self->all[self->count++] = (Body){offset, (size_t)self->children_size, (uint32_t)size,
                                      (uint32_t)count};
    for (Py_ssize_t i = 0; i < count; i++) {
        self->children[self->children_size++] = children[i];
    }
    uint32_t id = self->gone + (uint32_t)self->count;
    put(self->slots, self->slot_count, (Slot){id, hash_of(data, size)});
    return id;
}

Py_ssize_t
bodies_children(const Bodies *self, uint32_t id, const uint32_t **children)
{
    if (id <= self->gone || id - self->gone > (size_t)self->count) {
        return 0;
    }
    const Body *body = &self->all[id - self->gone - 1];
    *children = self->children + body->children;
    return body->count;
}

/* Let go of those that are forgotten, if the writer has them. */
static void
let_go(Bodies *self)
{
    Py_ssize_t gone = self->forgotten;
    if (gone == 0 || self->taken < gone) {
        return;
    }
    uint32_t before = self->gone + (uint32_t)gone;
    if (gone == self->count) {
        bodies_free(self);
        self->gone = before;
        return;
    }
    size_t bytes = self->all[gone].offset;
    Py_ssize_t children = (Py_ssize_t)self->all[gone].children, left = self->count - gone;
    self->bytes.size -= bytes;
    memmove(self->bytes.data, self->bytes.data + bytes, self->bytes.size);
    self->children_size -= children;
    if (self->children_size > 0) {
        memmove(self->children, self->children + children,
                (size_t)self->children_size * sizeof *self->children);
    }
    for (Py_ssize_t i = 0; i < left; i++) {
        self->all[i] = self->all[gone + i];
        self->all[i].offset -= bytes;
        self->all[i].children -= (size_t)children;
    }
    self->count = left;
    self->taken -= gone;
    self->gone = before;
    self->forgotten = 0;
}

void
bodies_forget(Bodies *self)
{
    size_t remembered = self->bytes.size;
    if (self->forgotten > 0 && self->forgotten < self->count) {
        remembered -= self->all[self->forgotten].offset;
    }
    if (remembered < MANY || self->forgotten == self->count) {
        return;
    }
    self->forgotten = self->count;
    PyMem_Free(self->slots);
    self->slots = NULL;
    self->slot_count = 0;
    let_go(self);
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
                               : Py_BuildValue("nny#", (Py_ssize_t)self->gone + self->taken + 1,
                                               self->count - self->taken, (const char *)out.data,
                                               (Py_ssize_t)out.size);
    buffer_free(&out);
    if (taken != NULL) {
        self->taken = self->count;
        let_go(self);
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
