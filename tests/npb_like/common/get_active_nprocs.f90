! Its name shows version 3.4 of NPB-MPI.
