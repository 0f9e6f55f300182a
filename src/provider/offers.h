/*
 * offers - what package managers print about packages that can be had.
 *
 * Each function reads the output of one program into offers whose names were put
 * there before; other names and lines that make no sense are passed over.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef PROVIDER_OFFERS_H
#define PROVIDER_OFFERS_H

#include "base/str.h"

struct arena;
struct package_offers;

/* apt-cache policy */
void offers_parse_apt(struct package_offers *offers, struct arena *arena, struct str text);
/* dnf list, yum list: name.arch, version and repository, wrapped where they do not fit */
void offers_parse_dnf(struct package_offers *offers, struct arena *arena, struct str text);
/* zypper search -s: columns with bars between */
void offers_parse_zypper(struct package_offers *offers, struct arena *arena, struct str text);
/* apk policy */
void offers_parse_apk(struct package_offers *offers, struct arena *arena, struct str text);
/* pacman -Si */
void offers_parse_pacman(struct package_offers *offers, struct arena *arena, struct str text);

#endif
