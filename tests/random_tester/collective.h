/* The forms of a collective in the random tester, which all its collectives have in common. */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include "operation.h"
#include "place.h"
#include "say.h"

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

struct call {
    enum form form;
    struct group *g;
    MPI_Request request;
    bool made; /* the persistent request */
    bool large; /* calls have the form of large counts */
};

/* Calls MPI_Name, MPI_Iname or MPI_Name_init in the form that was drawn; `arguments` is the text of them. */
#define CALL(c, Long, short_, arguments, ...) do { \
        if ((c)->large) CALL_OF(c, Long, short_, _c, arguments, __VA_ARGS__); \
        else CALL_OF(c, Long, short_, , arguments, __VA_ARGS__); \
    } while (0)

/* The same in one form of counts: `_c` or nothing stands behind the name. */
#define CALL_OF(c, Long, short_, c_, arguments, ...) do { \
        if ((c)->form == BLOCKING) \
            DO(MPI_##Long##c_(__VA_ARGS__, (c)->g->comm), "MPI_" #Long #c_ "(%s, %s)", arguments, (c)->g->name); \
        else if ((c)->form == NONBLOCKING) \
            DO(MPI_I##short_##c_(__VA_ARGS__, (c)->g->comm, &(c)->request), \
                "MPI_I" #short_ #c_ "(%s, %s, &request)", arguments, (c)->g->name); \
        else { \
            if (!(c)->made) \
                DO(MPI_##Long##_init##c_(__VA_ARGS__, (c)->g->comm, MPI_INFO_NULL, &(c)->request), \
                   "MPI_" #Long "_init" #c_ "(%s, %s, MPI_INFO_NULL, &request)", arguments, (c)->g->name); \
            (c)->made = true; \
            DO(MPI_Start(&(c)->request), "MPI_Start(&request)"); \
        } \
    } while (0)

static inline void wait_for(struct call *call, struct dice *dice)
{
    MPI_Status status;
    complete(dice, 1, &call->request, &status);
}

static inline void free_call(struct call *call)
{
    if (call->made) DO(MPI_Request_free(&call->request), "MPI_Request_free(&request)");
}

#endif
