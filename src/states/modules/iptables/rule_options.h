/*
 * rule_options - the options of iptables and its extensions, a row each: its name in C, the
 * parameter, the option, how its value becomes words, and more members of the parameter.
 */
#ifndef STATES_MODULES_IPTABLES_RULE_OPTIONS_H
#define STATES_MODULES_IPTABLES_RULE_OPTIONS_H

enum rule_flag {
    RULE_WORDS = 1, /* each word of the value is an argument of its own */
    RULE_LIST = 2,  /* a list is joined with commas */
    RULE_AFTER = 4, /* belongs to the target, and comes after it */
};

/* clang-format off */
#define RULE_OPTIONS(X) \
    X(PROTOCOL, "protocol", "protocol", 0, .aliases = "p,proto") \
    X(SOURCE, "source", "source", 0, .aliases = "s") \
    X(DESTINATION, "destination", "destination", 0, .aliases = "d") \
    X(IN_INTERFACE, "in-interface", "in-interface", 0, .aliases = "if,i,in_interface") \
    X(OUT_INTERFACE, "out-interface", "out-interface", 0, .aliases = "of,o,out_interface") \
    X(FRAGMENT, "fragment", "fragment", 0, .aliases = "f") \
    X(SPORT, "sport", "sport", 0, .aliases = "source-port") \
    X(DPORT, "dport", "dport", 0, .aliases = "destination-port") \
    X(SPORTS, "sports", "sports", RULE_LIST, .aliases = "source-ports") \
    X(DPORTS, "dports", "dports", RULE_LIST, .aliases = "destination-ports") \
    X(PORTS, "ports", "ports", RULE_LIST) \
    X(TCP_FLAGS, "tcp-flags", "tcp-flags", RULE_WORDS) \
    X(SYN, "syn", "syn", 0) \
    X(TCP_OPTION, "tcp-option", "tcp-option", 0) \
    X(ICMP_TYPE, "icmp-type", "icmp-type", 0) \
    X(ICMPV6_TYPE, "icmpv6-type", "icmpv6-type", 0) \
    X(CONNSTATE, "connstate", "state", RULE_LIST) \
    X(CTSTATE, "ctstate", "ctstate", RULE_LIST) \
    X(CTPROTO, "ctproto", "ctproto", 0) \
    X(CTORIGSRC, "ctorigsrc", "ctorigsrc", 0) \
    X(CTORIGDST, "ctorigdst", "ctorigdst", 0) \
    X(CTREPLSRC, "ctreplsrc", "ctreplsrc", 0) \
    X(CTREPLDST, "ctrepldst", "ctrepldst", 0) \
    X(CTORIGSRCPORT, "ctorigsrcport", "ctorigsrcport", 0) \
    X(CTORIGDSTPORT, "ctorigdstport", "ctorigdstport", 0) \
    X(CTREPLSRCPORT, "ctreplsrcport", "ctreplsrcport", 0) \
    X(CTREPLDSTPORT, "ctrepldstport", "ctrepldstport", 0) \
    X(CTSTATUS, "ctstatus", "ctstatus", RULE_LIST) \
    X(CTEXPIRE, "ctexpire", "ctexpire", 0) \
    X(CTDIR, "ctdir", "ctdir", 0) \
    X(LIMIT, "limit", "limit", 0) \
    X(LIMIT_BURST, "limit-burst", "limit-burst", 0) \
    X(CONNLIMIT_ABOVE, "connlimit-above", "connlimit-above", 0) \
    X(CONNLIMIT_UPTO, "connlimit-upto", "connlimit-upto", 0) \
    X(CONNLIMIT_MASK, "connlimit-mask", "connlimit-mask", 0) \
    X(CONNLIMIT_SADDR, "connlimit-saddr", "connlimit-saddr", 0) \
    X(CONNLIMIT_DADDR, "connlimit-daddr", "connlimit-daddr", 0) \
    X(CONNBYTES, "connbytes", "connbytes", 0) \
    X(CONNBYTES_DIR, "connbytes-dir", "connbytes-dir", 0) \
    X(CONNBYTES_MODE, "connbytes-mode", "connbytes-mode", 0) \
    X(MAC_SOURCE, "mac-source", "mac-source", 0) \
    X(MARK, "mark", "mark", 0) \
    X(MATCH_SET, "match-set", "match-set", RULE_WORDS) \
    X(RETURN_NOMATCH, "return-nomatch", "return-nomatch", 0) \
    X(UID_OWNER, "uid-owner", "uid-owner", 0) \
    X(GID_OWNER, "gid-owner", "gid-owner", 0) \
    X(SOCKET_EXISTS, "socket-exists", "socket-exists", 0) \
    X(PKT_TYPE, "pkt-type", "pkt-type", 0) \
    X(SRC_TYPE, "src-type", "src-type", 0) \
    X(DST_TYPE, "dst-type", "dst-type", 0) \
    X(LIMIT_IFACE_IN, "limit-iface-in", "limit-iface-in", 0) \
    X(LIMIT_IFACE_OUT, "limit-iface-out", "limit-iface-out", 0) \
    X(SRC_RANGE, "src-range", "src-range", 0) \
    X(DST_RANGE, "dst-range", "dst-range", 0) \
    X(STRING, "string", "string", 0) \
    X(HEX_STRING, "hex-string", "hex-string", 0) \
    X(ALGO, "algo", "algo", 0) \
    X(FROM, "from", "from", 0) \
    X(TO, "to", "to", 0) \
    X(ICASE, "icase", "icase", 0) \
    X(LENGTH, "length", "length", 0) \
    X(TOS, "tos", "tos", 0) \
    X(DSCP, "dscp", "dscp", 0) \
    X(DSCP_CLASS, "dscp-class", "dscp-class", 0) \
    X(TTL_EQ, "ttl-eq", "ttl-eq", 0) \
    X(TTL_GT, "ttl-gt", "ttl-gt", 0) \
    X(TTL_LT, "ttl-lt", "ttl-lt", 0) \
    X(HL_EQ, "hl-eq", "hl-eq", 0) \
    X(HL_GT, "hl-gt", "hl-gt", 0) \
    X(HL_LT, "hl-lt", "hl-lt", 0) \
    X(TIMESTART, "timestart", "timestart", 0) \
    X(TIMESTOP, "timestop", "timestop", 0) \
    X(DATESTART, "datestart", "datestart", 0) \
    X(DATESTOP, "datestop", "datestop", 0) \
    X(WEEKDAYS, "weekdays", "weekdays", RULE_LIST) \
    X(MONTHDAYS, "monthdays", "monthdays", RULE_LIST) \
    X(KERNELTZ, "kerneltz", "kerneltz", 0) \
    X(CONTIGUOUS, "contiguous", "contiguous", 0) \
    X(HASHLIMIT_UPTO, "hashlimit-upto", "hashlimit-upto", 0) \
    X(HASHLIMIT_ABOVE, "hashlimit-above", "hashlimit-above", 0) \
    X(HASHLIMIT_BURST, "hashlimit-burst", "hashlimit-burst", 0) \
    X(HASHLIMIT_MODE, "hashlimit-mode", "hashlimit-mode", RULE_LIST) \
    X(HASHLIMIT_NAME, "hashlimit-name", "hashlimit-name", 0) \
    X(HASHLIMIT_SRCMASK, "hashlimit-srcmask", "hashlimit-srcmask", 0) \
    X(HASHLIMIT_DSTMASK, "hashlimit-dstmask", "hashlimit-dstmask", 0) \
    X(HASHLIMIT_HTABLE_SIZE, "hashlimit-htable-size", "hashlimit-htable-size", 0) \
    X(HASHLIMIT_HTABLE_MAX, "hashlimit-htable-max", "hashlimit-htable-max", 0) \
    X(HASHLIMIT_HTABLE_EXPIRE, "hashlimit-htable-expire", "hashlimit-htable-expire", 0) \
    X(HASHLIMIT_HTABLE_GCINTERVAL, "hashlimit-htable-gcinterval", "hashlimit-htable-gcinterval", 0) \
    X(RCHECK, "rcheck", "rcheck", 0) \
    X(UPDATE, "update", "update", 0) \
    X(REMOVE, "remove", "remove", 0) \
    X(SET, "set", "set", 0) \
    X(SECONDS, "seconds", "seconds", 0) \
    X(HITCOUNT, "hitcount", "hitcount", 0) \
    X(REAP, "reap", "reap", 0) \
    X(RTTL, "rttl", "rttl", 0) \
    X(RSOURCE, "rsource", "rsource", 0) \
    X(RDEST, "rdest", "rdest", 0) \
    X(MASK, "mask", "mask", 0) \
    X(PHYSDEV_IN, "physdev-in", "physdev-in", 0) \
    X(PHYSDEV_OUT, "physdev-out", "physdev-out", 0) \
    X(PHYSDEV_IS_IN, "physdev-is-in", "physdev-is-in", 0) \
    X(PHYSDEV_IS_OUT, "physdev-is-out", "physdev-is-out", 0) \
    X(PHYSDEV_IS_BRIDGED, "physdev-is-bridged", "physdev-is-bridged", 0) \
    X(DIR, "dir", "dir", 0) \
    X(POL, "pol", "pol", 0) \
    X(POLICY, "policy", "policy", 0) \
    X(STRICT, "strict", "strict", 0) \
    X(REQID, "reqid", "reqid", 0) \
    X(SPI, "spi", "spi", 0) \
    X(TUNNEL_SRC, "tunnel-src", "tunnel-src", 0) \
    X(TUNNEL_DST, "tunnel-dst", "tunnel-dst", 0) \
    X(HELPER, "helper", "helper", 0) \
    X(MODE, "mode", "mode", 0) \
    X(PROBABILITY, "probability", "probability", 0) \
    X(EVERY, "every", "every", 0) \
    X(PACKET, "packet", "packet", 0) \
    X(REALM, "realm", "realm", 0) \
    X(QUOTA, "quota", "quota", 0) \
    X(CPU, "cpu", "cpu", 0) \
    X(CPU_MASK, "cpu-mask", "cpu-mask", 0) \
    X(U32, "u32", "u32", 0) \
    X(BYTECODE, "bytecode", "bytecode", 0) \
    X(LOOSE, "loose", "loose", 0) \
    X(VALIDMARK, "validmark", "validmark", 0) \
    X(ACCEPT_LOCAL, "accept-local", "accept-local", 0) \
    X(INVERT, "invert", "invert", 0) \
    X(SRC_GROUP, "src-group", "src-group", 0) \
    X(DST_GROUP, "dst-group", "dst-group", 0) \
    X(CGROUP, "cgroup", "cgroup", 0) \
    X(PATH, "path", "path", 0) \
    X(CHUNK_TYPES, "chunk-types", "chunk-types", RULE_WORDS) \
    X(COMMENT, "comment", "comment", 0) \
    X(TO_DESTINATION, "to-destination", "to-destination", RULE_AFTER) \
    X(TO_SOURCE, "to-source", "to-source", RULE_AFTER) \
    X(TO_PORTS, "to-ports", "to-ports", RULE_AFTER, .aliases = "to-port") \
    X(RANDOM, "random", "random", RULE_AFTER) \
    X(RANDOM_FULLY, "random-fully", "random-fully", RULE_AFTER) \
    X(PERSISTENT, "persistent", "persistent", RULE_AFTER) \
    X(LOG_LEVEL, "log-level", "log-level", RULE_AFTER) \
    X(LOG_PREFIX, "log-prefix", "log-prefix", RULE_AFTER) \
    X(LOG_TCP_SEQUENCE, "log-tcp-sequence", "log-tcp-sequence", RULE_AFTER) \
    X(LOG_TCP_OPTIONS, "log-tcp-options", "log-tcp-options", RULE_AFTER) \
    X(LOG_IP_OPTIONS, "log-ip-options", "log-ip-options", RULE_AFTER) \
    X(LOG_UID, "log-uid", "log-uid", RULE_AFTER) \
    X(NFLOG_GROUP, "nflog-group", "nflog-group", RULE_AFTER) \
    X(NFLOG_PREFIX, "nflog-prefix", "nflog-prefix", RULE_AFTER) \
    X(NFLOG_SIZE, "nflog-size", "nflog-size", RULE_AFTER) \
    X(NFLOG_THRESHOLD, "nflog-threshold", "nflog-threshold", RULE_AFTER) \
    X(REJECT_WITH, "reject-with", "reject-with", RULE_AFTER) \
    X(SET_MARK, "set-mark", "set-mark", RULE_AFTER) \
    X(SET_XMARK, "set-xmark", "set-xmark", RULE_AFTER) \
    X(AND_MARK, "and-mark", "and-mark", RULE_AFTER) \
    X(OR_MARK, "or-mark", "or-mark", RULE_AFTER) \
    X(XOR_MARK, "xor-mark", "xor-mark", RULE_AFTER) \
    X(SAVE_MARK, "save-mark", "save-mark", RULE_AFTER) \
    X(RESTORE_MARK, "restore-mark", "restore-mark", RULE_AFTER) \
    X(NFMASK, "nfmask", "nfmask", RULE_AFTER) \
    X(CTMASK, "ctmask", "ctmask", RULE_AFTER) \
    X(SET_TOS, "set-tos", "set-tos", RULE_AFTER) \
    X(SET_DSCP, "set-dscp", "set-dscp", RULE_AFTER) \
    X(SET_DSCP_CLASS, "set-dscp-class", "set-dscp-class", RULE_AFTER) \
    X(SET_CLASS, "set-class", "set-class", RULE_AFTER) \
    X(TTL_SET, "ttl-set", "ttl-set", RULE_AFTER) \
    X(TTL_DEC, "ttl-dec", "ttl-dec", RULE_AFTER) \
    X(TTL_INC, "ttl-inc", "ttl-inc", RULE_AFTER) \
    X(HL_SET, "hl-set", "hl-set", RULE_AFTER) \
    X(HL_DEC, "hl-dec", "hl-dec", RULE_AFTER) \
    X(HL_INC, "hl-inc", "hl-inc", RULE_AFTER) \
    X(TPROXY_MARK, "tproxy-mark", "tproxy-mark", RULE_AFTER) \
    X(ON_PORT, "on-port", "on-port", RULE_AFTER) \
    X(ON_IP, "on-ip", "on-ip", RULE_AFTER) \
    X(QUEUE_NUM, "queue-num", "queue-num", RULE_AFTER) \
    X(QUEUE_BALANCE, "queue-balance", "queue-balance", RULE_AFTER) \
    X(QUEUE_BYPASS, "queue-bypass", "queue-bypass", RULE_AFTER) \
    X(QUEUE_CPU_FANOUT, "queue-cpu-fanout", "queue-cpu-fanout", RULE_AFTER) \
    X(SET_MSS, "set-mss", "set-mss", RULE_AFTER) \
    X(CLAMP_MSS_TO_PMTU, "clamp-mss-to-pmtu", "clamp-mss-to-pmtu", RULE_AFTER) \
    X(NOTRACK, "notrack", "notrack", RULE_AFTER) \
    X(ZONE, "zone", "zone", RULE_AFTER) \
    X(CTEVENTS, "ctevents", "ctevents", RULE_LIST | RULE_AFTER) \
    X(TIMEOUT, "timeout", "timeout", RULE_AFTER) \
    X(ADD_SET, "add-set", "add-set", RULE_WORDS | RULE_AFTER) \
    X(DEL_SET, "del-set", "del-set", RULE_WORDS | RULE_AFTER) \
    X(MAP_SET, "map-set", "map-set", RULE_WORDS | RULE_AFTER) \
    X(EXIST, "exist", "exist", RULE_AFTER) \
    X(CHECKSUM_FILL, "checksum-fill", "checksum-fill", RULE_AFTER) \
    X(GATEWAY, "gateway", "gateway", RULE_AFTER) \
    X(STRIP_OPTIONS, "strip-options", "strip-options", RULE_LIST | RULE_AFTER)
/* clang-format on */

#endif
