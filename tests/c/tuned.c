/* Prints what a parameter is: `tuned NAME`. Of a job that goes by a profile, or does not (tests/test_bench_tune.py). */
#include "test.h"

int main(int argc, char **argv)
{
    MPI_T_cvar_handle handle;
    MPI_Count value;
    int index, count, provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_Init(&argc, &argv));
    OK(MPI_T_cvar_get_index(argv[1], &index));
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    OK(MPI_T_cvar_read(handle, &value));
    printf("%lld\n", (long long)value);
    OK(MPI_T_cvar_handle_free(&handle));
    OK(MPI_Finalize());
    OK(MPI_T_finalize());
    return 0;
}
