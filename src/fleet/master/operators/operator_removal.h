/*
 * operator_removal - removes operators: revokes their policy, and makes servers refuse their keys.
 */
#ifndef FLEET_MASTER_OPERATORS_OPERATOR_REMOVAL_H
#define FLEET_MASTER_OPERATORS_OPERATOR_REMOVAL_H

#include "fleet/master/master.h"

extern const struct master_service operator_removal_service;

#endif
