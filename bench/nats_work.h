/* What the drivers of the three clients of NATS do the same way, so that they can be compared. */
#ifndef BENCH_NATS_WORK_H
#define BENCH_NATS_WORK_H

#define PAYLOAD  300
#define WINDOW   1024
#define BATCH    1000
#define PIPELINE 256
#define KEYS     100

#endif
