/*
 * operator proxy - checks the requests of named operators and forwards them.
 */
#ifndef FLEET_MASTER_OPERATORS_OPERATOR_PROXY_H
#define FLEET_MASTER_OPERATORS_OPERATOR_PROXY_H

#include "fleet/master/master.h"

extern const struct master_service operator_proxy_service;

#endif
