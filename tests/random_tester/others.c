/* Operations that go wrong on purpose, or need no other rank: a message that is too long, a receive that is cancelled,
 * packing and unpacking (operation.h). */
#include "operation.h"
#include "place.h"
#include "say.h"

#include <stdlib.h>

enum { TAG_TOO_LONG = 31000, TAG_OF_NOBODY = 32000 };

/* A receive that nothing matches. */
static void cancel(const struct group *g)
{
    int number, cancelled;
    MPI_Request request;
    MPI_Status status;
    DO(MPI_Irecv(&number, 1, MPI_INT, 0, TAG_OF_NOBODY, g->comm, &request),
        "MPI_Irecv(&number, 1, MPI_INT, 0, %d, %s, &request)",
       TAG_OF_NOBODY, g->name);
    DO(MPI_Cancel(&request), "MPI_Cancel(&request)");
    DO(MPI_Wait(&request, &status), "MPI_Wait(&request, &status)");
    DO(MPI_Test_cancelled(&status, &cancelled), "MPI_Test_cancelled(&status, &flag)");
    if (!cancelled) failed("a receive that nothing matches was not cancelled");
}

static int receive_short(struct dice *dice, const struct group *g, struct place *place, long count, struct type *type,
    int from)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int how = roll(dice, 3);
    if (how == 0) {
        say("MPI_Recv(buffer, %ld, %s, %d, %d, %s, &status)", count, type->name, from, TAG_TOO_LONG, g->name);
        return MPI_Recv(place->base, (int)count, type->handle, from, TAG_TOO_LONG, g->comm, &status);
    }
    if (how == 1) {
        DO(MPI_Mprobe(from, TAG_TOO_LONG, g->comm, &message, &status), "MPI_Mprobe(%d, %d, %s, &message, &status)",
            from,
           TAG_TOO_LONG, g->name);
        say("MPI_Mrecv(buffer, %ld, %s, &message, &status)", count, type->name);
        return MPI_Mrecv(place->base, (int)count, type->handle, &message, &status);
    }
    DO(MPI_Irecv(place->base, (int)count, type->handle, from, TAG_TOO_LONG, g->comm, &request),
       "MPI_Irecv(buffer, %ld, %s, %d, %d, %s, &request)", count, type->name, from, TAG_TOO_LONG, g->name);
    say("MPI_Wait(&request, &status)");
    return MPI_Wait(&request, &status);
}

static void take_too_long(struct operation *o, const struct signature *unit, long units, int from)
{
    struct dice dice = dice_of(o->name, 60);
    long room = roll(&dice, (int)units);
    struct type *type = make_type(&dice, unit, room, true);
    struct place place = place_for(type, room, o->name);
    int class = class_of(receive_short(&dice, o->group, &place, room, type, from));
    if (class != MPI_ERR_TRUNCATE)
        failed("a message of %ld elements was received as %ld with error class %d, expected MPI_ERR_TRUNCATE", units,
            room, class);
    anything(&place, type, 0, room);
    check_place(&place, "a message that was too long: beside the elements of %ld %s", room, type->name);
    free_place(&place);
    free_type(type);
}

void begin_truncation(struct operation *o)
{
    struct dice dice = dice_of(o->name, 3);
    const struct group *g = o->group;
    const struct signature *unit = draw_signature(&dice);
    long units = 1 + draw_units(&dice, unit, 200 << 10);
    int from = roll(&dice, g->inter ? (g->first ? g->ranks : g->others) : g->ranks);
    int to = roll(&dice, g->inter ? (g->first ? g->others : g->ranks) : g->ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    struct type *type = NULL;
    struct place place;
    if (g->me == from && (!g->inter || g->first)) {
        type = make_type(&dice, unit, units, true);
        place = place_for(type, units, o->name);
        DO(MPI_Isend(place.base, (int)units, type->handle, to, TAG_TOO_LONG, g->comm, &request),
           "MPI_Isend(buffer, %ld, %s, %d, %d, %s, &request)", units, type->name, to, TAG_TOO_LONG, g->name);
    }
    if (g->me == to && (!g->inter || !g->first)) take_too_long(o, unit, units, from);
    cancel(g);
    if (!type) return;
    say("MPI_Wait(&request, MPI_STATUS_IGNORE)");
    int class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE)
        failed("the sender of a message that was too long got error class %d", class);
    check_place(&place, "the buffer of a message that was too long");
    free_place(&place);
    free_type(type);
}

/* From one layout to another by way of packed bytes, in two pieces. */
void begin_packing(struct operation *o)
{
    struct dice dice = dice_of(o->name, 4 + (uint64_t)o->group->me);
    const struct signature *unit = draw_signature(&dice);
    MPI_Comm comm = o->group->comm;
    long units = draw_units(&dice, unit, 200 << 10), part = roll(&dice, (int)units + 1);
    struct type *from = make_type(&dice, unit, units, true), *to = make_type(&dice, unit, units, true);
    struct place out = place_for(from, units, o->name), in = place_for(to, units, o->name + 1);
    long counts[] = {part, units - part};
    int room = 0, at = 0;
    lay(&out, from, 0, units * unit->bytes, o->name, NOW | LATER);
    lay(&in, to, 0, units * unit->bytes, o->name, LATER);
    for (int i = 0; i < 2; i++) {
        int bytes;
        DO(MPI_Pack_size((int)counts[i], from->handle, comm, &bytes), "MPI_Pack_size(%ld, %s, %s, &n)", counts[i],
            from->name, o->group->name);
        room += bytes;
    }
    if (room < units * unit->bytes) failed("MPI_Pack_size says %d for %ld bytes", room, units * unit->bytes);
    char *packed = malloc((size_t)room + 1);
    for (int i = 0; i < 2; i++)
        DO(MPI_Pack(out.base + (i ? part * extent_of(from) : 0), (int)counts[i], from->handle, packed, room, &at, comm),
           "MPI_Pack(buffer + %ld, %ld, %s, packed, %d, &at, %s)", i ? part * extent_of(from) : 0, counts[i],
               from->name, room, o->group->name);
    int packed_bytes = at;
    part = units - part, counts[0] = part, counts[1] = units - part, at = 0;
    for (int i = 0; i < 2; i++)
        DO(MPI_Unpack(packed, packed_bytes, &at, in.base + (i ? part * extent_of(to) : 0), (int)counts[i], to->handle,
            comm),
           "MPI_Unpack(packed, %d, &at, buffer + %ld, %ld, %s, %s)", packed_bytes, i ? part * extent_of(to) : 0,
               counts[i], to->name, o->group->name);
    check_place(&out, "the buffer of MPI_Pack");
    check_place(&in, "what MPI_Unpack of %ld units of %s as %s wrote", units, from->name, to->name);
    free(packed);
    free_place(&out), free_place(&in);
    free_type(from), free_type(to);
}
