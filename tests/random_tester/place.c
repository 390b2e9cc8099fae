/* Buffers and their expected bytes (place.h). */
#include "place.h"
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A multiple of every alignment. */
enum { GUARD = 128 };

unsigned char byte_of(uint64_t stream, long at)
{
    uint64_t word = (stream ^ (uint64_t)(at >> 3)) * 0x9e3779b97f4a7c15u;
    return (unsigned char)((word ^ (word >> 29)) >> (8 + 6 * (at & 7)));
}

static struct place place_between(long low, long high, uint64_t name)
{
    struct place place = {.before = GUARD + (low < 0 ? (-low + GUARD - 1) / GUARD * GUARD : 0)};
    place.bytes = place.before + (high > 0 ? high : 0) + GUARD;
    place.memory = aligned_alloc(GUARD, (size_t)(place.bytes + GUARD - 1) / GUARD * GUARD);
    place.expected = malloc((size_t)place.bytes);
    if (!place.memory || !place.expected) failed("the tester has no memory for a buffer of %ld bytes", place.bytes);
    for (long i = 0; i < place.bytes; i++) place.memory[i] = byte_of(~named(name, (uint64_t)now.rank), i);
    memcpy(place.expected, place.memory, (size_t)place.bytes);
    place.base = (char *)place.memory + place.before;
    return place;
}

struct place place_for(const struct type *type, long elements, uint64_t name)
{
    if (!elements) return place_between(0, 0, name);
    long last = (elements - 1) * extent_of(type);
    return place_between(type->low + (last < 0 ? last : 0), type->high + (last > 0 ? last : 0), name);
}

struct place place_of_bytes(long bytes, uint64_t name)
{
    return place_between(0, bytes, name);
}

void lay_bytes(struct place *place, long at, const void *bytes, long length, int when)
{
    at += place->before;
    if (at < 0 || at + length > place->bytes) failed("the tester lays bytes outside of its buffer");
    if (when & NOW) memcpy(place->memory + at, bytes, (size_t)length);
    if (when & LATER) memcpy(place->expected + at, bytes, (size_t)length);
}

void lay_at(struct place *place, const struct type *type, long at, long bytes, uint64_t stream, int when)
{
    long extent = extent_of(type);
    for (long done = 0; done < bytes; at += extent)
        for (int i = 0; i < type->entries && done < bytes; i++) {
            unsigned char piece[16];
            for (int j = 0; j < type->map[i].bytes; j++) piece[j] = byte_of(stream, done++);
            lay_bytes(place, at + type->map[i].at, piece, type->map[i].bytes, when);
        }
}

void lay(struct place *place, const struct type *type, long first, long bytes, uint64_t stream, int when)
{
    lay_at(place, type, first * extent_of(type), bytes, stream, when);
}

void lay_as_sent(struct place *place, const struct type *type, long bytes, uint64_t stream, const struct type *sender)
{
    long elements = sender->bytes ? bytes / sender->bytes : 0, done = 0, in_element = 0;
    struct place sent = place_for(sender, elements, stream);
    lay(&sent, sender, 0, bytes, stream, NOW);
    unsigned char *read = malloc((size_t)bytes + 1);
    for (long element = 0; element < elements; element++)
        for (int i = 0; i < sender->entries; done += sender->map[i++].bytes)
            memcpy(read + done, sent.base + element * extent_of(sender) + sender->map[i].at,
                (size_t)sender->map[i].bytes);
    long at = 0;
    int i = 0;
    for (done = 0; done < bytes; done += in_element) {
        in_element = type->map[i].bytes;
        lay_bytes(place, at + type->map[i].at, read + done, in_element, LATER);
        if (++i == type->entries) i = 0, at += extent_of(type);
    }
    free(read);
    free_place(&sent);
}

void anything(struct place *place, const struct type *type, long first, long elements)
{
    for (long element = first; element < first + elements; element++)
        for (int i = 0; i < type->entries; i++) {
            long at = place->before + element * extent_of(type) + type->map[i].at;
            memcpy(place->expected + at, place->memory + at, (size_t)type->map[i].bytes);
        }
}

void check_place(const struct place *place, const char *format, ...)
{
    if (!memcmp(place->memory, place->expected, (size_t)place->bytes)) return;
    long at = 0, wrong = 0;
    while (place->memory[at] == place->expected[at]) at++;
    for (long i = at; i < place->bytes; i++) wrong += place->memory[i] != place->expected[i];
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    failed("%s: byte %ld behind the buffer's address is 0x%02x, expected 0x%02x; %ld bytes are wrong", what,
           at - place->before, place->memory[at], place->expected[at], wrong);
}

void free_place(struct place *place)
{
    free(place->memory);
    free(place->expected);
    *place = (struct place){0};
}
