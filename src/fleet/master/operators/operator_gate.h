/*
 * operator_gate - answers operators with a name: checks what they ask for and passes it on.
 */
#ifndef FLEET_MASTER_OPERATORS_OPERATOR_GATE_H
#define FLEET_MASTER_OPERATORS_OPERATOR_GATE_H

#include "fleet/master/master.h"

extern const struct master_service operator_gate_service;

#endif
