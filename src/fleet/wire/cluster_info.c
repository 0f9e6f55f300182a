#include "fleet/wire/cluster_info.h"

/* clang-format off */

static const struct record_field info_fields[] = {
    RECORD("v",             INT,    struct cluster_info, v, 0),
    RECORD("ca_bundle_pem", STRING, struct cluster_info, ca_bundle_pem, 0),
    RECORD("fingerprint",   TEXT,   struct cluster_info, fingerprint, 0, .fallback_text = ""),
    RECORD("nats_urls",     TEXTS,  struct cluster_info, nats_urls, 0),
    RECORD("issued_at",     TEXT,   struct cluster_info, issued_at, 0, .fallback_text = ""),
    { 0 },
};

const struct record_type cluster_info_type = RECORD_TYPE("bootstrap document", struct cluster_info, info_fields, RECORD_LENIENT);

/* clang-format on */
