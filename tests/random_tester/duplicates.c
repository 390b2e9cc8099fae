/* Communicators that are made while others communicate (operation.h). */
#include "operation.h"
#include "say.h"

#include <stdlib.h>

struct duplicate {
    int which; /* its place among those that the group frees at the end */
    MPI_Request request;
};

/* The communicator is there now. All ranks free it in one order, so that is left to the group's end. */
static void finish_duplicate(struct operation *o)
{
    struct duplicate *d = o->state;
    struct dice dice = dice_of(o->name, 90 + (uint64_t)my_number(o->group));
    MPI_Comm made;
    MPI_Status status;
    int compared;
    complete(&dice, 1, &d->request, &status);
    made = o->group->made_of_it[d->which];
    DO(MPI_Comm_compare(o->group->comm, made, &compared), "MPI_Comm_compare(%s, more%d, &result)", o->group->name,
       d->which);
    if (compared != MPI_CONGRUENT) failed("%s and its duplicate compare as %d", o->group->name, compared);
    free(d);
}

void begin_duplicate(struct operation *o)
{
    struct group *g = o->group;
    struct dice dice = dice_of(o->name, 7);
    struct duplicate *d = calloc(1, sizeof *d);
    if (!d || g->more == MOST_MORE) failed("the tester has no room for more communicators");
    *d = (struct duplicate){.which = g->more++, .request = MPI_REQUEST_NULL};
    if (roll(&dice, 2))
        DO(MPI_Comm_idup(g->comm, &g->made_of_it[d->which], &d->request), "MPI_Comm_idup(%s, &more%d, &request)",
           g->name, d->which);
    else
        DO(MPI_Comm_idup_with_info(g->comm, MPI_INFO_NULL, &g->made_of_it[d->which], &d->request),
           "MPI_Comm_idup_with_info(%s, MPI_INFO_NULL, &more%d, &request)", g->name, d->which);
    o->state = d;
    o->finish = finish_duplicate;
}
