/* All ways to complete requests (operation.h). */
#include "operation.h"
#include "say.h"

static void check_place_of(int at, int n, const char *call)
{
    if (at < 0 || at >= n) failed("%s says that request %d of %d is complete", call, at, n);
}

/* One after the other, in any order. */
static void one_by_one(struct dice *dice, int n, MPI_Request requests[], MPI_Status statuses[], bool test)
{
    int order[n ? n : 1];
    shuffled(dice, n, order);
    for (int i = 0; i < n; i++) {
        int at = order[i], flag = 0;
        if (!test) DO(MPI_Wait(&requests[at], &statuses[at]), "MPI_Wait(&requests[%d], &statuses[%d])", at, at);
        while (test && !flag) DO(MPI_Test(&requests[at], &flag, &statuses[at]),
            "MPI_Test(&requests[%d], &flag, &status)", at);
    }
}

/* The first one each time. */
static void any(int n, MPI_Request requests[], MPI_Status statuses[], bool test)
{
    for (int done = 0; done < n; done++) {
        int at = MPI_UNDEFINED, flag = 1;
        MPI_Status status;
        if (!test) DO(MPI_Waitany(n, requests, &at, &status), "MPI_Waitany(%d, requests, &at, &status)", n);
        else
            do DO(MPI_Testany(n, requests, &at, &flag, &status), "MPI_Testany(%d, requests, &at, &flag, &status)", n);
            while (!flag);
        if (at == MPI_UNDEFINED) return; /* the others were null from the start */
        check_place_of(at, n, test ? "MPI_Testany" : "MPI_Waitany");
        statuses[at] = status;
    }
}

static void some(int n, MPI_Request requests[], MPI_Status statuses[], bool test)
{
    int places[n ? n : 1], got = 0;
    MPI_Status few[n ? n : 1];
    while (true) {
        if (!test) DO(MPI_Waitsome(n, requests, &got, places, few), "MPI_Waitsome(%d, requests, &n, places, statuses)",
            n);
        else DO(MPI_Testsome(n, requests, &got, places, few), "MPI_Testsome(%d, requests, &n, places, statuses)", n);
        if (got == MPI_UNDEFINED) return;
        for (int i = 0; i < got; i++) {
            check_place_of(places[i], n, test ? "MPI_Testsome" : "MPI_Waitsome");
            statuses[places[i]] = few[i];
        }
    }
}

/* By MPI_Request_get_status first, whose status is the one that is taken; the request is there afterwards. */
static void looked_at(int n, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < n; i++) {
        int flag = 0;
        while (!flag)
            DO(MPI_Request_get_status(requests[i], &flag, &statuses[i]),
                "MPI_Request_get_status(requests[%d], &flag, &statuses[%d])", i, i);
        DO(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE), "MPI_Test(&requests[%d], &flag, MPI_STATUS_IGNORE)", i);
        if (!flag) failed("MPI_Request_get_status says that request %d is complete, MPI_Test that it is not", i);
    }
}

void complete(struct dice *dice, int n, MPI_Request requests[], MPI_Status statuses[])
{
    int flag = 0, how = roll(dice, 9);
    switch (how) {
    case 0: DO(MPI_Waitall(n, requests, statuses), "MPI_Waitall(%d, requests, statuses)", n); break;
    case 1:
        while (!flag) DO(MPI_Testall(n, requests, &flag, statuses), "MPI_Testall(%d, requests, &flag, statuses)", n);
        break;
    case 2: case 3: one_by_one(dice, n, requests, statuses, how == 3); break;
    case 8: looked_at(n, requests, statuses); break;
    case 4: case 5: any(n, requests, statuses, how == 5); break;
    default: some(n, requests, statuses, how == 7);
    }
}
