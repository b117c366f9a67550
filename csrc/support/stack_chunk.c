/* The last chunk of a thread's stack of frames is kept, as CPython does itself since 3.14.

   Frames of Python lie in chunks of 16 KiB. Until 3.14 a call that does not fit into the last one
   has the system map the next, and its return unmaps it: a loop that stands there pays a fault of
   memory and two calls of the system for each call in its body. Where that is depends on how deep
   the program stands and how large its frames are; a compile, whose calls are deep, has tens of
   thousands of such calls. A frame of ours would move the place and so change what the program
   pays by several percent, more than all the rest of a recording. So the chunk that was given back
   last is kept while a program is watched, and given out when one of its size is asked for.

   Chunks come from the allocator of arenas, which can be replaced at any time: what was given out
   before and after goes back to the same functions. Interpreters with a GIL of their own share it,
   hence the exchanges. */

#include "module.h"

enum { CHUNK_BYTES = 16 * 1024 };

static PyObjectArenaAllocator beneath; /* of CPython, or of somebody before us */
static int placed;
static void *kept;

static void *
chunk_alloc(void *Py_UNUSED(context), size_t size)
{
    void *chunk = size == CHUNK_BYTES ? __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQ_REL) : NULL;
    return chunk != NULL ? chunk : beneath.alloc(beneath.ctx, size);
}

static void
chunk_free(void *Py_UNUSED(context), void *memory, size_t size)
{
    if (size == CHUNK_BYTES) {
        memory = __atomic_exchange_n(&kept, memory, __ATOMIC_ACQ_REL);
    }
    if (memory != NULL) {
        beneath.free(beneath.ctx, memory, size);
    }
}

static PyObject *
keep_stack_chunk(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObjectArenaAllocator ours = {NULL, chunk_alloc, chunk_free};
    if (!placed) {
        PyObject_GetArenaAllocator(&beneath);
        PyObject_SetArenaAllocator(&ours);
        placed = 1;
    }
    Py_RETURN_NONE;
}

static PyObject *
release_stack_chunk(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObjectArenaAllocator now;
    PyObject_GetArenaAllocator(&now);
    /* Somebody who has put his own above ours calls us as ever, and so we stay. */
    if (placed && now.alloc == chunk_alloc) {
        PyObject_SetArenaAllocator(&beneath);
        chunk_free(NULL, NULL, CHUNK_BYTES);
        placed = 0;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("keep_stack_chunk", keep_stack_chunk, METH_NOARGS),
    METHOD("release_stack_chunk", release_stack_chunk, METH_NOARGS),
    {NULL, NULL, 0, NULL},
};

const Part stack_chunk_part = {.functions = functions};
