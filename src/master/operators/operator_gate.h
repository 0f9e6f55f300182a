/*
 * operator_gate - answers operators with a name: checks what they ask for and passes it on.
 */
#ifndef MASTER_OPERATORS_OPERATOR_GATE_H
#define MASTER_OPERATORS_OPERATOR_GATE_H

#include "master/master.h"

extern const struct master_service operator_gate_service;

#endif
