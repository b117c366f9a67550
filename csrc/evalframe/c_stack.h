/* How much of the thread's C stack is left. */

#ifndef STEPPER_C_STACK_H
#define STEPPER_C_STACK_H

/* Whether there is room for another evaluation and what it may call. */
int c_stack_is_left(void);

#endif
