/*
 * operator_removal - removes operators: their policy counts no more, and servers refuse their keys.
 */
#ifndef MASTER_OPERATORS_OPERATOR_REMOVAL_H
#define MASTER_OPERATORS_OPERATOR_REMOVAL_H

#include "master/master.h"

extern const struct master_service operator_removal_service;

#endif
