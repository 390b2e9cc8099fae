/* How long messages are (operation.h). */
#include "operation.h"
#include "say.h"

long draw_bytes(struct dice *dice, long most_bytes)
{
    /* Where libraries change their ways: a cache line, a page or two, an eager message, a pipeline's first piece. */
    static const long lengths[] = {0, 1, 8, 40, 64, 500, 2 << 10, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 1 << 20};
    int which = roll(dice, 60);
    long bytes = lengths[which < 14 ? 1 + which % 4 : which < 50 ? which % 9 : which < 56 ? 9 : which < 59 ? 10 : 11];
    if (most_bytes > wishes.most_bytes) most_bytes = wishes.most_bytes;
    return bytes < most_bytes ? bytes : most_bytes;
}

long draw_units(struct dice *dice, const struct signature *unit, long most_bytes)
{
    if (most_bytes > wishes.most_bytes) most_bytes = wishes.most_bytes;
    long bytes = draw_bytes(dice, most_bytes), more = roll(dice, 15);
    long units = bytes / unit->bytes + (bytes > unit->bytes ? more % 3 - 1 : bytes ? more % 5 : 0);
    return units * unit->bytes > most_bytes ? most_bytes / unit->bytes : units;
}

int draw_factor(struct dice *dice, const struct signature *unit, long units)
{
    int factor = 1 + roll(dice, 4);
    return wishes.depth > 0 && units % factor == 0 && unit->entries * factor <= MOST_ENTRIES ? factor : 1;
}
