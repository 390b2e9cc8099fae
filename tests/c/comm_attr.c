// ranks: 1 2
/* Attributes: copy and delete callbacks, their order and errors; predefined ones; those of MPI_COMM_SELF at the end. */
#include "test.h"

static char history[256];

static void note(const char *what, const void *value)
{
    size_t used = strlen(history);
    snprintf(history + used, sizeof history - used, "%s%d ", what, *(const int *)value);
}

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(extra == &size);
    note("copy", in);
    *(void **)out = in;
    *flag = *(int *)in % 2; /* odd ones are copied */
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    note("delete", value);
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    return MPI_ERR_OTHER;
}

static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static void callbacks(void)
{
    MPI_Comm comm, dup;
    int keys[3], values[] = {1, 2, 3}, four = 4, *value, flag;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_create_keyval(copy, delete, &keys[i], &size));
        OK(MPI_Comm_set_attr(comm, keys[i], &values[i]));
    }
    OK(MPI_Comm_get_attr(comm, keys[1], &value, &flag));
    CHECK(flag && value == &values[1]);
    SAME(history, "");
    OK(MPI_Comm_set_attr(comm, keys[1], &four)); /* the old value is deleted first */
    SAME(history, "delete2 ");
    *history = 0;
    OK(MPI_Comm_dup(comm, &dup));
    CHECK(strstr(history, "copy1 ") && strstr(history, "copy3 ") && strstr(history, "copy4 "));
    OK(MPI_Comm_get_attr(dup, keys[0], &value, &flag));
    CHECK(flag && value == &values[0]);
    OK(MPI_Comm_get_attr(dup, keys[1], &value, &flag));
    CHECK(!flag);
    *history = 0;
    OK(MPI_Comm_delete_attr(dup, keys[0]));
    SAME(history, "delete1 ");
    OK(MPI_Comm_get_attr(dup, keys[0], &value, &flag));
    CHECK(!flag);
    *history = 0;
    OK(MPI_Comm_free(&dup));
    SAME(history, "delete3 ");
    int old = keys[0];
    OK(MPI_Comm_free_keyval(&keys[0]));
    CHECK(keys[0] == MPI_KEYVAL_INVALID && old != MPI_KEYVAL_INVALID);
    *history = 0;
    OK(MPI_Comm_free(&comm)); /* also what was set under the freed key */
    CHECK(strstr(history, "delete1 ") && strstr(history, "delete3 ") && strstr(history, "delete4 "));
    OK(MPI_Comm_free_keyval(&keys[1]));
    OK(MPI_Comm_free_keyval(&keys[2]));
    *history = 0;
    /* MPI_Comm_split copies nothing. */
    int key;
    OK(MPI_Comm_create_keyval(copy, delete, &key, &size));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_attr(comm, key, &values[0]));
    OK(MPI_Comm_split(comm, 0, 0, &dup));
    OK(MPI_Comm_get_attr(dup, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&key));
}

static int key_to_free, freed_in_delete;

/* As PETSc's do: the delete function of an attribute frees its key, which the program may have freed before. */
static int delete_with_key(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)value, (void)extra;
    EQUAL(keyval, key_to_free);
    OK(MPI_Comm_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID);
    freed_in_delete++;
    return MPI_SUCCESS;
}

/* A freed key may be named as long as attributes use it, and freed again. */
static void freed_twice(void)
{
    MPI_Comm comms[2];
    int value = 1, copy, flag;
    void *found;
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    for (int before = 0; before < 3; before++) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_key, &key_to_free, NULL));
        for (int i = 0; i < 2; i++) {
            OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
            OK(MPI_Comm_set_attr(comms[i], key_to_free, &value));
        }
        for (int i = 0; i < before; i++) {
            copy = key_to_free;
            OK(MPI_Comm_free_keyval(&copy));
            CHECK(copy == MPI_KEYVAL_INVALID);
        }
        OK(MPI_Comm_get_attr(comms[1], key_to_free, &found, &flag));
        CHECK(flag && found == &value);
        freed_in_delete = 0;
        OK(MPI_Comm_delete_attr(comms[0], key_to_free));
        for (int i = 0; i < 2; i++) OK(MPI_Comm_free(&comms[i]));
        EQUAL(freed_in_delete, 2);
        copy = key_to_free;
        FAILS(MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
        FAILS(MPI_Comm_get_attr(MPI_COMM_SELF, key_to_free, &found, &flag), MPI_ERR_KEYVAL);
    }
}

static void ready_made(void)
{
    MPI_Comm comm, dup;
    int null_copy, dup_copy, value = 5, *got, flag;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_copy, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_copy, NULL));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_attr(comm, null_copy, &value));
    OK(MPI_Comm_set_attr(comm, dup_copy, &value));
    OK(MPI_Comm_dup(comm, &dup));
    OK(MPI_Comm_get_attr(dup, null_copy, &got, &flag));
    CHECK(!flag);
    OK(MPI_Comm_get_attr(dup, dup_copy, &got, &flag));
    CHECK(flag && got == &value);
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&null_copy));
    OK(MPI_Comm_free_keyval(&dup_copy));
}

/* A delete callback that fails: the attribute stays, and so does the communicator. */
static void refused(void)
{
    MPI_Comm comm;
    int key, value = 6, *got, flag;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &value));
    CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
    OK(MPI_Comm_get_attr(comm, key, &got, &flag));
    CHECK(flag && got == &value);
    OK(MPI_Comm_free_keyval(&key));
    /* A copy callback that fails: there is no new communicator. */
    MPI_Comm old, new = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &old));
    OK(MPI_Comm_set_errhandler(old, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(old, key, &value));
    FAILS(MPI_Comm_dup(old, &new), MPI_ERR_OTHER);
    CHECK(new == MPI_COMM_NULL);
    new = MPI_COMM_WORLD;
    FAILS(MPI_Comm_dup_with_info(old, MPI_INFO_NULL, &new), MPI_ERR_OTHER);
    CHECK(new == MPI_COMM_NULL);
    OK(MPI_Comm_free(&old));
    OK(MPI_Comm_free_keyval(&key));
}

static void predefined(void)
{
    int *value, flag;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    /* The largest tag works. */
    int in = 0, out = 77;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, NEXT, *value, &in, 1, MPI_INT, PREV, *value, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    EQUAL(in, 77);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(flag && (*value == 0 || *value == 1));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value == 0);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= size);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
}

static char last_words[64];

/* MPI_Finalize begins with these, the last set first (MPI-5.0 11.2.4), and MPI still works in them. */
static int at_the_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    int finalized = 1, rank = -1, got = 0, out = 3;
    CHECK(comm == MPI_COMM_SELF);
    OK(MPI_Finalized(&finalized));
    CHECK(!finalized);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    EQUAL(rank, me);
    OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    EQUAL(got, 3);
    size_t used = strlen(last_words);
    snprintf(last_words + used, sizeof last_words - used, "%s ", (char *)value);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    callbacks();
    freed_twice();
    ready_made();
    refused();
    predefined();
    for (int i = 0; i < 3; i++) {
        int key;
        char *name = (char *[]){"first", "second", "third"}[i];
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, name));
    }
    MPI_Finalize();
    SAME(last_words, "third second first ");
    return 0;
}
