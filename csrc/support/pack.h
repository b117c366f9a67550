/* A growing buffer and the part of MessagePack that a moment needs.

   The layout is the one that stepper/recording/schema.py documents; msgspec reads it back. */

#ifndef STEPPER_PACK_H
#define STEPPER_PACK_H

#include "module.h"

#include <stdint.h>
#include <string.h>

typedef struct {
    unsigned char *data;
    size_t size, room;
} Buffer;

static inline int
buffer_reserve(Buffer *buffer, size_t more)
{
    if (buffer->size + more <= buffer->room) {
        return 0;
    }
    size_t room = buffer->room ? buffer->room : 256;
    while (room < buffer->size + more) {
        room *= 2;
    }
    unsigned char *data = PyMem_Realloc(buffer->data, room);
    if (data == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    buffer->data = data;
    buffer->room = room;
    return 0;
}

static inline void
buffer_free(Buffer *buffer)
{
    PyMem_Free(buffer->data);
    memset(buffer, 0, sizeof(*buffer));
}

static inline int
pack_raw(Buffer *buffer, const void *data, size_t size)
{
    if (buffer_reserve(buffer, size) < 0) {
        return -1;
    }
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return 0;
}

/* One byte that says what follows, and a big-endian number of `width` bytes. */
static inline int
pack_head(Buffer *buffer, unsigned char mark, uint64_t number, int width)
{
    if (buffer_reserve(buffer, 9) < 0) {
        return -1;
    }
    unsigned char *at = buffer->data + buffer->size;
    *at++ = mark;
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
        *at++ = (unsigned char)(number >> shift);
    }
    buffer->size += (size_t)width + 1;
    return 0;
}

static inline int
pack_nil(Buffer *buffer)
{
    return pack_head(buffer, 0xc0, 0, 0);
}

static inline int
pack_uint(Buffer *buffer, uint64_t number)
{
    if (number < 0x80) {
        return pack_head(buffer, (unsigned char)number, 0, 0);
    }
    if (number <= 0xff) {
        return pack_head(buffer, 0xcc, number, 1);
    }
    if (number <= 0xffff) {
        return pack_head(buffer, 0xcd, number, 2);
    }
    if (number <= 0xffffffff) {
        return pack_head(buffer, 0xce, number, 4);
    }
    return pack_head(buffer, 0xcf, number, 8);
}

static inline int
pack_array(Buffer *buffer, size_t count)
{
    if (count < 16) {
        return pack_head(buffer, (unsigned char)(0x90 | count), 0, 0);
    }
    return count <= 0xffff ? pack_head(buffer, 0xdc, count, 2) : pack_head(buffer, 0xdd, count, 4);
}

static inline int
pack_map(Buffer *buffer, size_t count)
{
    if (count < 16) {
        return pack_head(buffer, (unsigned char)(0x80 | count), 0, 0);
    }
    return count <= 0xffff ? pack_head(buffer, 0xde, count, 2) : pack_head(buffer, 0xdf, count, 4);
}

static inline int
pack_bytes(Buffer *buffer, const void *data, size_t size)
{
    int done = size <= 0xff     ? pack_head(buffer, 0xc4, size, 1)
               : size <= 0xffff ? pack_head(buffer, 0xc5, size, 2)
                                : pack_head(buffer, 0xc6, size, 4);
    return done < 0 ? -1 : pack_raw(buffer, data, size);
}

/* A str; what is no text is written as `\udc80` is, as stepper.recording.packing does. */
static inline int
pack_text(Buffer *buffer, PyObject *text)
{
    Py_ssize_t size;
    PyObject *bytes = NULL;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
            return -1;
        }
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
        if (bytes == NULL) {
            return -1;
        }
        data = PyBytes_AS_STRING(bytes);
        size = PyBytes_GET_SIZE(bytes);
    }
    uint64_t length = (uint64_t)size;
    int done = length < 32        ? pack_head(buffer, (unsigned char)(0xa0 | length), 0, 0)
               : length <= 0xff   ? pack_head(buffer, 0xd9, length, 1)
               : length <= 0xffff ? pack_head(buffer, 0xda, length, 2)
                                  : pack_head(buffer, 0xdb, length, 4);
    if (done == 0) {
        done = pack_raw(buffer, data, (size_t)size);
    }
    Py_XDECREF(bytes);
    return done;
}

#endif
