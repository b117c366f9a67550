/* Nodes of an FX graph as records; the idea is in node_record.c. */

#ifndef STEPPER_NODE_RECORD_H
#define STEPPER_NODE_RECORD_H

#include "record/node_marks.h"

extern PyTypeObject NodeRecords_Type;

#endif
