// ranks: 1 2
/* MPI_T: everything that there is, told in full, before MPI_Init, while it runs and after MPI_Finalize. */
#include "test.h"

enum { MOST = 200, TEXT = 4096 };

static char names[3][MOST][TEXT];
static int counts[3];

/* A string result by the rules of MPI-5.0 15.3.3; `get` calls the function with a buffer and a length. */
#define TEXT_OF(into, get) do { \
        int length_ = 0, short_ = 3; \
        char cut_[4] = "???"; \
        get(NULL, &length_); \
        CHECK(length_ >= 1 && length_ <= TEXT); \
        int room_ = TEXT; \
        memset(into, 'x', TEXT); \
        get(into, &room_); \
        EQUAL(room_, length_); \
        EQUAL((int)strlen(into) + 1, length_); \
        get(cut_, &short_); \
        EQUAL(short_, length_); \
        CHECK(strlen(cut_) == (strlen(into) < 2 ? strlen(into) : 2) && !strncmp(cut_, into, strlen(cut_)) && cut_[3] == 0); \
        strcpy(cut_, "???"); \
        get(cut_, NULL); \
        SAME(cut_, "???"); \
        short_ = 0; \
        get(cut_, &short_); \
        SAME(cut_, "???"); \
        EQUAL(short_, length_); \
    } while (0)

static void words(MPI_T_enum type)
{
    int items, value;
    char name[TEXT], word[TEXT];
#define NAME(to, len) OK(MPI_T_enum_get_info(type, &items, to, len))
    TEXT_OF(name, NAME);
    OK(MPI_T_enum_get_info(type, NULL, NULL, NULL));
    CHECK(items > 1);
    for (int i = 0; i < items; i++) {
#define WORD(to, len) OK(MPI_T_enum_get_item(type, i, &value, to, len))
        TEXT_OF(word, WORD);
        CHECK(*word);
        EQUAL(value, i);
    }
    EQUAL(MPI_T_enum_get_item(type, items, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_enum_get_item(type, -1, &value, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
}

static void one_of(int value, int n, const int *known)
{
    for (int i = 0; i < n; i++)
        if (value == known[i]) return;
    FAIL("%d is no constant of its kind", value);
}

static const int LEVELS[] = {MPI_T_VERBOSITY_USER_BASIC, MPI_T_VERBOSITY_USER_DETAIL, MPI_T_VERBOSITY_USER_ALL,
                             MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_VERBOSITY_TUNER_ALL,
                             MPI_T_VERBOSITY_MPIDEV_BASIC, MPI_T_VERBOSITY_MPIDEV_DETAIL, MPI_T_VERBOSITY_MPIDEV_ALL};
static const int SCOPES[] = {MPI_T_SCOPE_CONSTANT, MPI_T_SCOPE_READONLY, MPI_T_SCOPE_LOCAL, MPI_T_SCOPE_GROUP,
                             MPI_T_SCOPE_GROUP_EQ, MPI_T_SCOPE_ALL, MPI_T_SCOPE_ALL_EQ};

static void cvars(int *number)
{
    char about[TEXT], text[TEXT];
    OK(MPI_T_cvar_get_num(number));
    CHECK(*number > 15 && *number < MOST);
    for (int i = 0; i < *number; i++) {
        int level, bind, scope, index, count;
        MPI_Datatype type;
        MPI_T_enum enumtype;
        MPI_T_cvar_handle handle;
        OK(MPI_T_cvar_get_info(i, NULL, NULL, &level, &type, &enumtype, NULL, NULL, &bind, &scope));
#define CVAR_NAME(to, len) OK(MPI_T_cvar_get_info(i, to, len, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
#define CVAR_DESC(to, len) OK(MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, to, len, NULL, NULL))
        TEXT_OF(names[0][i], CVAR_NAME);
        TEXT_OF(about, CVAR_DESC);
        CHECK(!strncmp(names[0][i], "HAWSER_", 7) && *about);
        one_of(level, 9, LEVELS);
        one_of(scope, 7, SCOPES);
        EQUAL(bind, MPI_T_BIND_NO_OBJECT);
        OK(MPI_T_cvar_get_index(names[0][i], &index));
        EQUAL(index, i);
        OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        if (type == MPI_INT) {
            int value, items;
            CHECK(enumtype != MPI_T_ENUM_NULL);
            words(enumtype);
            OK(MPI_T_enum_get_info(enumtype, &items, NULL, NULL));
            OK(MPI_T_cvar_read(handle, &value));
            CHECK(count == 1 && value >= 0 && value < items);
        } else if (type == MPI_COUNT) {
            MPI_Count value = -2;
            OK(MPI_T_cvar_read(handle, &value));
            CHECK(count == 1 && value >= -1 && enumtype == MPI_T_ENUM_NULL);
        } else {
            CHECK(type == MPI_CHAR && enumtype == MPI_T_ENUM_NULL && count > 1 && count <= TEXT);
            memset(text, 'x', sizeof text);
            OK(MPI_T_cvar_read(handle, text));
            CHECK((int)strlen(text) < count);
        }
        OK(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
}

static void pvars(int *number)
{
    char about[TEXT];
    MPI_T_pvar_session session;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_num(number));
    CHECK(*number > 30 && *number < MOST);
    for (int i = 0; i < *number; i++) {
        int level, class, bind, readonly, continuous, atomic, index, count;
        MPI_Datatype type;
        MPI_T_enum enumtype;
        MPI_T_pvar_handle handle;
        OK(MPI_T_pvar_get_info(i, NULL, NULL, &level, &class, &type, &enumtype, NULL, NULL, &bind, &readonly, &continuous,
                               &atomic));
#define PVAR_NAME(to, len) \
        OK(MPI_T_pvar_get_info(i, to, len, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
#define PVAR_DESC(to, len) \
        OK(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, to, len, NULL, NULL, NULL, NULL))
        TEXT_OF(names[1][i], PVAR_NAME);
        TEXT_OF(about, PVAR_DESC);
        CHECK(*names[1][i] && *about && !strpbrk(names[1][i], " ()'"));
        one_of(level, 9, LEVELS);
        EQUAL(bind, MPI_T_BIND_NO_OBJECT);
        CHECK(enumtype == MPI_T_ENUM_NULL);
        int counter = class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE;
        CHECK(counter || class == MPI_T_PVAR_CLASS_TIMER || class == MPI_T_PVAR_CLASS_LEVEL);
        CHECK(type == (class == MPI_T_PVAR_CLASS_TIMER ? MPI_DOUBLE : MPI_UNSIGNED_LONG_LONG));
        EQUAL(readonly, class == MPI_T_PVAR_CLASS_LEVEL);
        EQUAL(continuous, class == MPI_T_PVAR_CLASS_LEVEL);
        EQUAL(atomic, class != MPI_T_PVAR_CLASS_LEVEL);
        OK(MPI_T_pvar_get_index(names[1][i], class, &index));
        EQUAL(index, i);
        EQUAL(MPI_T_pvar_get_index(names[1][i], MPI_T_PVAR_CLASS_STATE, &index), MPI_T_ERR_INVALID_NAME);
        OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count));
        EQUAL(count, 1);
        double value = 1;
        OK(MPI_T_pvar_read(session, handle, &value));
        EQUAL(value != 0, 0);
        OK(MPI_T_pvar_handle_free(session, &handle));
        CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    }
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

/* How often a category or a variable is in another category. */
static int inside[3][MOST];

static void categories(int *number)
{
    char about[TEXT];
    int stamp, roots = 0;
    memset(inside, 0, sizeof inside);
    OK(MPI_T_category_changed(&stamp));
    OK(MPI_T_category_get_num(number));
    CHECK(*number > 4 && *number < MOST);
    for (int i = 0; i < *number; i++) {
        int sizes[3], events = -1, index, found[MOST];
        OK(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, &sizes[0], &sizes[1], &sizes[2]));
#define CAT_NAME(to, len) OK(MPI_T_category_get_info(i, to, len, NULL, NULL, NULL, NULL, NULL))
#define CAT_DESC(to, len) OK(MPI_T_category_get_info(i, NULL, NULL, to, len, NULL, NULL, NULL))
        TEXT_OF(names[2][i], CAT_NAME);
        TEXT_OF(about, CAT_DESC);
        CHECK(*names[2][i] && *about);
        OK(MPI_T_category_get_index(names[2][i], &index));
        EQUAL(index, i);
        OK(MPI_T_category_get_num_events(i, &events));
        EQUAL(events, 0);
        OK(MPI_T_category_get_events(i, 0, NULL));
        for (int kind = 0; kind < 3; kind++) {
            int (*const get[])(int, int, int *) = {MPI_T_category_get_cvars, MPI_T_category_get_pvars,
                                                   MPI_T_category_get_categories};
            OK(get[kind](i, 0, NULL));
            memset(found, -1, sizeof found);
            OK(get[kind](i, 1, found));
            EQUAL(found[1], -1);
            OK(get[kind](i, MOST, found));
            for (int j = 0; j < sizes[kind]; j++) {
                CHECK(found[j] >= 0 && found[j] < (kind == 2 ? *number : counts[kind]));
                CHECK(kind < 2 || found[j] > i); /* a tree: parents first */
                inside[kind][found[j]]++;
            }
            EQUAL(found[sizes[kind]], -1);
        }
    }
    for (int i = 0; i < *number; i++) roots += !inside[2][i];
    EQUAL(roots, 1);
    for (int kind = 0; kind < 2; kind++)
        for (int i = 0; i < counts[kind]; i++) EQUAL(inside[kind][i], 1);
}

static void events(void)
{
    int number = -1, index;
    MPI_T_event_registration registration;
    MPI_Count stamp;
    OK(MPI_T_event_get_num(&number));
    EQUAL(number, 0);
    OK(MPI_T_source_get_num(&number));
    EQUAL(number, 0);
    EQUAL(MPI_T_event_get_index("x", &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_source_get_timestamp(0, &stamp), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_event_read(NULL, 0, &stamp), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_event_register_callback(NULL, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
}

static void walk(void)
{
    cvars(&counts[0]);
    pvars(&counts[1]);
    categories(&counts[2]);
    events();
}

static void not_initialised(void)
{
    int number;
    MPI_T_pvar_session session;
    EQUAL(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_pvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_category_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_category_changed(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_event_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_source_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_event_read(NULL, 0, NULL), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &number, NULL, NULL), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_cvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_NOT_INITIALIZED);
    EQUAL(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

int main(int argc, char **argv)
{
    static char before[sizeof names];
    int provided = -1, class, length, kept[3];
    char text[MPI_MAX_ERROR_STRING];
    not_initialised();
    EQUAL(MPI_T_init_thread(4711, &provided), MPI_T_ERR_INVALID);
    EQUAL(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    not_initialised();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    walk();
    memcpy(before, names, sizeof names);
    memcpy(kept, counts, sizeof counts);
    start(&argc, &argv); /* whatever is wrong in MPI_T calls no error handler: the default one would end the job */
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    walk();
    EQUAL(MPI_T_cvar_get_index("HAWSER_NONE", &provided), MPI_T_ERR_INVALID_NAME);
    OK(MPI_Error_class(MPI_T_ERR_INVALID_NAME, &class));
    EQUAL(class, MPI_T_ERR_INVALID_NAME);
    OK(MPI_Error_string(MPI_T_ERR_INVALID_NAME, text, &length));
    OK(MPI_T_finalize());
    MPI_Finalize();
    walk();
    EQUAL(memcmp(before, names, sizeof names), 0);
    EQUAL(memcmp(kept, counts, sizeof counts), 0);
    OK(MPI_T_finalize());
    not_initialised();
    OK(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided));
    walk();
    OK(MPI_T_finalize());
    return 0;
}
