/* Memory of a message in the random tester, and what every byte of it has to be afterwards.
 *
 * Around the elements and in their gaps lies a pattern, another one at each rank, that no call may touch. Elements
 * carry bytes of a stream, which has a name, from which every rank knows the bytes. */
#ifndef PLACE_H
#define PLACE_H

#include "types.h"

struct place {
    unsigned char *memory, *expected;
    long bytes;
    char *base; /* what MPI is given */
    long before; /* of the memory before `base` */
};

/* For `elements` of a type, and nothing in it yet. */
struct place place_for(const struct type *type, long elements, uint64_t name);
struct place place_of_bytes(long bytes, uint64_t name);
/* Elements from the `first` on get `bytes` of a stream, now, or are expected to have them later, or both. */
enum { NOW = 1, LATER = 2 };
void lay(struct place *place, const struct type *type, long first, long bytes, uint64_t stream, int when);
/* The same at so many bytes behind `base`. */
void lay_at(struct place *place, const struct type *type, long at, long bytes, uint64_t stream, int when);
/* The bytes that a message carries whose sender lays a stream by a type of its own, perhaps one that overlaps. */
void lay_as_sent(struct place *place, const struct type *type, long bytes, uint64_t stream, const struct type *sender);
void lay_bytes(struct place *place, long at, const void *bytes, long length, int when);
/* Takes for right what is there now. */
void anything(struct place *place, const struct type *type, long first, long elements);
void check_place(const struct place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
void free_place(struct place *place);
unsigned char byte_of(uint64_t stream, long at);

#endif
