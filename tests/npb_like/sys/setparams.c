/* Its name shows a folder of NPB-MPI. */
