/* Lets a program that callgrind watches say what is to be counted. */
#include <valgrind/callgrind.h>

void
begin_counting(void)
{
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void
end_counting(const char *label)
{
    CALLGRIND_DUMP_STATS_AT(label);
    CALLGRIND_STOP_INSTRUMENTATION;
}
