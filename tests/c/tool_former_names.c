/* MPI_T: a performance variable of a former version is found under its former name, as the variable of today. */
#include "test.h"

int main(int argc, char **argv)
{
    const char *names[][2] = {{"messages_pushed_in_pieces", "messages_streamed_eagerly"},
                              {"offers_made_rtr", "rtrs_sent"},
                              {"frames_lost_and_sent_again", "frames_retransmitted"}};
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    start(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        int former = -1, present = -2, class = MPI_T_PVAR_CLASS_COUNTER;
        OK(MPI_T_pvar_get_index(names[i][0], class, &former));
        OK(MPI_T_pvar_get_index(names[i][1], class, &present));
        EQUAL(former, present);
        EQUAL(MPI_T_pvar_get_index(names[i][0], MPI_T_PVAR_CLASS_TIMER, &former), MPI_T_ERR_INVALID_NAME);
    }
    int index;
    EQUAL(MPI_T_pvar_get_index("offers", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME);
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
