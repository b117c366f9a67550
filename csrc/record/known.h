/* Which trackers are known, and what is known of their classes; see known.c. */

#ifndef STEPPER_KNOWN_H
#define STEPPER_KNOWN_H

#include "record/trackers.h"

enum { ORDINARY, CONSTANT, LAZY, NOTHING }; /* the flavours of trackers */

/* The number under which the tracker is known, or 0. */
uint32_t known_number(Trackers *self, PyObject *tracker);
/* Know the tracker by this number, as long as it lives. */
int known_remember(Trackers *self, PyObject *tracker, uint32_t number);
/* Copy of what is known of the tracker's class; -1 with an exception. */
int known_kind(Trackers *self, PyObject *tracker, Kind *out);

#endif
