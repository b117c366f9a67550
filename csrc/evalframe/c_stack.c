/* How much of the thread's C stack is left.

   Without a hook, a Python function that calls another takes no C stack, and
   sys.setrecursionlimit() may ask for any depth. Through a hook each call takes some hundred bytes,
   and a deep recursion would end in a crash, of which the program hears nothing. So the hook asks
   here before each call and raises RecursionError while there is still room for what is running. */

#include "evalframe/c_stack.h"

#include "module.h"

#include <pthread.h>
#include <stdint.h>

static _Thread_local uintptr_t lowest; /* to which the stack may grow; 0: not asked yet */

static uintptr_t
find_lowest(void)
{
    uintptr_t bottom = 0;
    size_t size = 0;
#if defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    bottom = (uintptr_t)pthread_get_stackaddr_np(pthread_self()) - size;
#else
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *address;
        if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
            bottom = (uintptr_t)address;
        }
        pthread_attr_destroy(&attributes);
    }
#endif
    /* An eighth is for what runs without asking: C extensions, the compiler, destructors. */
    return bottom == 0 ? 1 : bottom + size / 8;
}

int
c_stack_is_left(void)
{
    char here;
    if (lowest == 0) {
        lowest = find_lowest();
    }
    return (uintptr_t)&here > lowest;
}
