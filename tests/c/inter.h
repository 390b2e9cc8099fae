/* What the tests of intercommunicators share: the processes of MPI_COMM_WORLD cut in two. */
#ifndef INTER_H
#define INTER_H

#include "coll.h"

/* Ranks below `cut` on the one side, the others on the other; the second group's ranks are in falling order. */
struct sides {
    MPI_Comm local, inter;
    int low;              /* this process is on the side of rank 0 */
    int rank, m, n;       /* its rank, the size of its group and of the other */
};

/* The rank in MPI_COMM_WORLD of a rank of this side, or of the other. */
static inline int world_rank(const struct sides *s, int remote, int rank)
{
    int low = remote ? !s->low : s->low;
    return low ? rank : size - 1 - rank;
}

__attribute__((unused))
static struct sides cut_at(int cut, int tag)
{
    struct sides s = {.low = me < cut};
    OK(MPI_Comm_split(MPI_COMM_WORLD, s.low, s.low ? me : -me, &s.local));
    OK(MPI_Comm_rank(s.local, &s.rank));
    OK(MPI_Comm_size(s.local, &s.m));
    s.n = size - s.m;
    /* The leaders are the last of the first group and the first of the second. */
    int leader = s.low ? s.m - 1 : 0, other = s.low ? size - 1 : cut - 1;
    int leads = s.rank == leader;
    OK(MPI_Intercomm_create(s.local, leader, leads ? MPI_COMM_WORLD : MPI_COMM_NULL, leads ? other : -77, tag, &s.inter));
    return s;
}

__attribute__((unused))
static void free_sides(struct sides *s)
{
    OK(MPI_Comm_free(&s->inter));
    OK(MPI_Comm_free(&s->local));
}

#endif
