/* Signatures, datatypes and their typemaps (types.h). */
#include "types.h"
#include "say.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct basic {
    MPI_Datatype handle;
    const char *name;
    int bytes, align;
    int second; /* of a pair: bytes of its int, behind the `bytes` of its first part; else 0 */
};

#define ONE(type, c) {type, #type, sizeof(c), _Alignof(c), 0}
#define PAIR(type, c) {type, #type, sizeof(c), _Alignof(struct { c a; int b; }), sizeof(int)}

static const struct basic *basic(int number)
{
    const struct basic table[] = {
        ONE(MPI_INT, int), ONE(MPI_BYTE, char), ONE(MPI_CHAR, char), ONE(MPI_SHORT, short), ONE(MPI_LONG, long),
        ONE(MPI_FLOAT, float), ONE(MPI_DOUBLE, double), ONE(MPI_UNSIGNED_SHORT, unsigned short),
        ONE(MPI_INT8_T, int8_t), ONE(MPI_UINT64_T, uint64_t), ONE(MPI_LONG_DOUBLE, long double),
        ONE(MPI_C_FLOAT_COMPLEX, float _Complex), ONE(MPI_C_DOUBLE_COMPLEX, double _Complex),
        ONE(MPI_C_BOOL, bool),
        PAIR(MPI_2INT, int), PAIR(MPI_SHORT_INT, short), PAIR(MPI_LONG_INT, long), PAIR(MPI_FLOAT_INT, float),
        PAIR(MPI_DOUBLE_INT, double),
    };
    enum { N = sizeof table / sizeof *table };
    static struct basic kept[N];
    memcpy(kept, table, sizeof table);
    return number < N ? &kept[number] : NULL;
}

/* Only the typemap is wanted, to see whether it will do. */
static bool dry;
#define MAKE(call, ...) do { if (!dry) DO(call, __VA_ARGS__); } while (0)

enum { BASICS = 19, SIGNATURES = 4000, TRIES = 6 };
static struct signature signatures[SIGNATURES];
static int drawn;

void signatures_forgotten(void)
{
    drawn = 0;
}

static struct signature *fresh(void)
{
    if (drawn == SIGNATURES) failed("the tester has no room for more signatures");
    struct signature *made = &signatures[drawn++];
    memset(made, 0, sizeof *made);
    return made;
}

const struct signature *repeated(int times, const struct signature *part)
{
    struct signature *made = fresh();
    *made = (struct signature){
        .kind = REPEAT, .times = times, .parts = 1, .part = {part}, .entries = times * part->entries,
        .bytes = times * part->bytes, .has_pairs = part->has_pairs,
    };
    return made;
}

const struct signature *pair_of_ints(void)
{
    struct signature *made = fresh();
    *made = (struct signature){.kind = BASIC, .basic = INT, .entries = 1, .bytes = sizeof(int)};
    return repeated(2, made);
}

static const struct signature *draw(struct dice *dice, int depth)
{
    int kind = depth ? roll(dice, 5) : 0;
    if (kind >= 3) return repeated(2 + roll(dice, 4), draw(dice, depth - 1));
    struct signature *made = fresh();
    if (kind == 0) {
        made->kind = BASIC;
        made->basic = roll(dice, 3) ? roll(dice, 7) : roll(dice, BASICS);
        /* Others may leave the padding of a long double behind. */
        if (wishes.agreed && made->basic == LONG_DOUBLE) made->basic = DOUBLE;
        const struct basic *of = basic(made->basic);
        made->entries = of->second ? 2 : 1;
        made->bytes = of->bytes + of->second;
        made->has_pairs = of->second > 0;
        return made;
    }
    made->kind = SEQUENCE;
    made->parts = 2 + roll(dice, PARTS - 1);
    for (int i = 0; i < made->parts; i++) {
        const struct signature *part = made->part[i] = draw(dice, depth - 1);
        made->entries += part->entries;
        made->bytes += part->bytes;
        made->has_pairs |= part->has_pairs;
    }
    return made;
}

const struct signature *draw_signature(struct dice *dice)
{
    const struct signature *made;
    do made = draw(dice, wishes.depth < 1 ? 0 : roll(dice, wishes.depth + 1)); while (made->entries > MOST_ENTRIES / 4);
    return made;
}

long lb_of(const struct type *type)
{
    return type->has_lb ? type->lb_marker : type->entries ? type->low : 0;
}

/* With what rounds it up to the strictest alignment of an entry, where no marker says otherwise. */
long extent_of(const struct type *type)
{
    if (type->has_ub) return type->ub_marker - lb_of(type);
    long bare = type->entries ? type->high - lb_of(type) : 0;
    return (bare + type->align - 1) / type->align * type->align;
}

static struct type *bare(void)
{
    static int number;
    struct type *type = calloc(1, sizeof *type);
    if (!type) failed("the tester has no memory for a type");
    snprintf(type->name, sizeof type->name, "t%d", dry ? 0 : number++ % 100000);
    type->unmade = dry;
    type->align = 1;
    type->low = type->lb_marker = LONG_MAX / 4;
    type->high = type->ub_marker = LONG_MIN / 4;
    return type;
}

static long least(long a, long b) { return a < b ? a : b; }
static long most(long a, long b) { return a > b ? a : b; }

/* Takes what `child` has, `at` bytes on. */
static void take(struct type *type, const struct type *child, long at)
{
    if (type->entries + child->entries > MOST_ENTRIES) failed("the tester has no room for a type of so many entries");
    for (int i = 0; i < child->entries; i++)
        type->map[type->entries++] = (struct entry){child->map[i].at + at, child->map[i].bytes};
    type->bytes += child->bytes;
    type->align = (int)most(type->align, child->align);
    if (child->entries) type->low = least(type->low, child->low + at), type->high = most(type->high, child->high + at);
    if (child->has_lb) type->has_lb = true, type->lb_marker = least(type->lb_marker, child->lb_marker + at);
    if (child->has_ub) type->has_ub = true, type->ub_marker = most(type->ub_marker, child->ub_marker + at);
}

static void take_block(struct type *type, const struct type *child, long at, int times)
{
    for (int i = 0; i < times; i++) take(type, child, at + i * extent_of(child));
}

void free_handle(struct type *type)
{
    if (!type->predefined && !type->unmade) DO(MPI_Type_free(&type->handle), "MPI_Type_free(&%s)", type->name);
    type->unmade = true;
}

void free_type(struct type *type)
{
    free_handle(type);
    free(type);
}

struct type *basic_type(int number)
{
    const struct basic *of = basic(number);
    struct type *type = bare();
    snprintf(type->name, sizeof type->name, "%s", of->name);
    type->predefined = true;
    type->handle = of->handle;
    type->align = of->align;
    type->bytes = of->bytes + of->second;
    type->map[type->entries++] = (struct entry){0, of->bytes};
    if (of->second) {
        long at = of->bytes < of->second ? of->second : of->bytes;
        type->map[type->entries++] = (struct entry){at, of->second};
    }
    type->low = 0;
    type->high = type->map[type->entries - 1].at + type->map[type->entries - 1].bytes;
    return type;
}

static struct type *resized(const struct type *child, long lb, long extent)
{
    struct type *type = bare();
    take(type, child, 0);
    type->has_lb = type->has_ub = true;
    type->lb_marker = lb;
    type->ub_marker = lb + extent;
    MAKE(MPI_Type_create_resized(child->handle, lb, extent, &type->handle),
        "MPI_Type_create_resized(%s, %ld, %ld, &%s)",
       child->name, lb, extent, type->name);
    return type;
}

/* Puts another in its place. */
static struct type *instead(struct type *child, struct type *type)
{
    free_type(child);
    return type;
}

/* One whose bounds are what all readings of MPI-5.0 5.1.6 give it as a part of another: where alignment would round its
 * extent up, markers do. (MPICH rounds structures alone, and a part's before the whole's.) */
static struct type *fit_for_parts(struct type *type)
{
    if (type->has_ub || (!wishes.agreed && extent_of(type) == type->high - lb_of(type))) return type;
    return instead(type, resized(type, lb_of(type), extent_of(type)));
}

/* Perhaps the same under another name, or with other bounds. */
static struct type *wrapped(struct dice *dice, struct type *type)
{
    int how = roll(dice, 10), align = type->align;
    if (how == 0) {
        struct type *same = bare();
        take(same, type, 0);
        MAKE(MPI_Type_dup(type->handle, &same->handle), "MPI_Type_dup(%s, &%s)", type->name, same->name);
        return instead(type, same);
    }
    if (how > 3 || !type->entries) return type;
    long lb = type->low - align * roll(dice, 3), extent = type->high - lb + align * roll(dice, 3);
    if (how == 3) lb = type->low + align * (roll(dice, 5) - 2), extent = extent_of(type);
    return instead(type, resized(type, lb, (extent + align - 1) / align * align));
}

static struct type *contiguous(int times, const struct type *child)
{
    struct type *type = bare();
    take_block(type, child, 0, times);
    MAKE(MPI_Type_contiguous(times, child->handle, &type->handle), "MPI_Type_contiguous(%d, %s, &%s)", times,
        child->name,
       type->name);
    return type;
}

/* A divisor of `times`. */
static int part_of(struct dice *dice, int times)
{
    int part;
    do part = 1 + roll(dice, times); while (times % part);
    return part;
}

static struct type *vector(struct dice *dice, int times, const struct type *child)
{
    struct type *type = bare();
    int length = part_of(dice, times), count = times / length, stride = length + roll(dice, 3);
    bool bytes = roll(dice, 2);
    if (roll(dice, 4) == 0) stride = -stride;
    long step = stride * extent_of(child);
    if (bytes) step += child->align * roll(dice, 3) * (step < 0 ? -1 : 1);
    for (int i = 0; i < count; i++) take_block(type, child, i * step, length);
    if (bytes)
        MAKE(MPI_Type_create_hvector(count, length, step, child->handle, &type->handle),
           "MPI_Type_create_hvector(%d, %d, %ld, %s, &%s)", count, length, step, child->name, type->name);
    else
        MAKE(MPI_Type_vector(count, length, stride, child->handle, &type->handle),
            "MPI_Type_vector(%d, %d, %d, %s, &%s)",
           count, length, stride, child->name, type->name);
    return type;
}

enum { BLOCKS = 8 };

/* Blocks of a type: lengths that add up to `times`, some perhaps 0, and places (elements, or bytes) in any order. */
struct blocks {
    int n, length[BLOCKS], place[BLOCKS];
    MPI_Aint at[BLOCKS];
};

static void draw_lengths(struct dice *dice, struct blocks *b, int times, bool alike)
{
    int left = times, each = part_of(dice, times);
    if (alike && times / each > BLOCKS) each = times;
    for (b->n = 0; b->n < BLOCKS - 1 && (left || (!alike && roll(dice, 4) == 0)); b->n++) {
        b->length[b->n] = alike ? each : roll(dice, 3) == 0 ? 0 : left ? 1 + roll(dice, left) : 0;
        left -= b->length[b->n];
    }
    if (left) b->length[b->n++] = left;
}

/* Places them behind each other in a random order, with gaps, from perhaps below zero on; `step` bytes an element. */
static void draw_places(struct dice *dice, struct blocks *b, const long step[], long align, bool bytes)
{
    int order[BLOCKS], place = roll(dice, 4) ? 0 : roll(dice, 8) - 4;
    long at = place * align;
    shuffled(dice, b->n, order);
    if (roll(dice, 2)) for (int i = 0; i < b->n; i++) order[i] = i;
    for (int i = 0; i < b->n; i++) {
        int which = order[i];
        at += ((-at) % align + align) % align;
        b->place[which] = place;
        b->at[which] = bytes ? at : place * step[which];
        place += b->length[which] + roll(dice, 3);
        at += b->length[which] * step[which] + align * roll(dice, 3);
    }
}

const char *list(int n, const int values[])
{
    char made[400] = "";
    for (int i = 0; i < n; i++) snprintf(made + strlen(made), sizeof made - strlen(made), "%s%d", i ? ", " : "",
        values[i]);
    return text("(int[]){%s}", made);
}

static const char *list_of_aints(int n, const MPI_Aint values[])
{
    char made[400] = "";
    for (int i = 0; i < n; i++)
        snprintf(made + strlen(made), sizeof made - strlen(made), "%s%ld", i ? ", " : "", (long)values[i]);
    return text("(MPI_Aint[]){%s}", made);
}

static struct type *indexed(struct dice *dice, int times, const struct type *child)
{
    struct type *type = bare();
    struct blocks b;
    bool bytes = roll(dice, 2), alike = roll(dice, 2);
    long step[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) step[i] = extent_of(child);
    draw_lengths(dice, &b, times, alike);
    draw_places(dice, &b, step, child->align, bytes);
    for (int i = 0; i < b.n; i++) take_block(type, child, b.at[i], b.length[i]);
    const char *lengths = list(b.n, b.length), *places = bytes ? list_of_aints(b.n, b.at) : list(b.n, b.place);
    if (alike && bytes)
        MAKE(MPI_Type_create_hindexed_block(b.n, b.length[0], b.at, child->handle, &type->handle),
           "MPI_Type_create_hindexed_block(%d, %d, %s, %s, &%s)", b.n, b.length[0], places, child->name, type->name);
    else if (alike)
        MAKE(MPI_Type_create_indexed_block(b.n, b.length[0], b.place, child->handle, &type->handle),
           "MPI_Type_create_indexed_block(%d, %d, %s, %s, &%s)", b.n, b.length[0], places, child->name, type->name);
    else if (bytes)
        MAKE(MPI_Type_create_hindexed(b.n, b.length, b.at, child->handle, &type->handle),
           "MPI_Type_create_hindexed(%d, %s, %s, %s, &%s)", b.n, lengths, places, child->name, type->name);
    else
        MAKE(MPI_Type_indexed(b.n, b.length, b.place, child->handle, &type->handle),
           "MPI_Type_indexed(%d, %s, %s, %s, &%s)", b.n, lengths, places, child->name, type->name);
    return type;
}

/* A part of an array of one to three dimensions, C's order or Fortran's. */
static struct type *subarray(struct dice *dice, int times, const struct type *child)
{
    struct type *type = bare();
    int sizes[3], parts[3], starts[3], dims = 1 + roll(dice, 3), left = times, order = roll(dice, 2);
    for (int i = 0; i < dims; i++) {
        parts[i] = i == dims - 1 ? left : part_of(dice, left);
        left /= parts[i];
        sizes[i] = parts[i] + roll(dice, 3);
        starts[i] = roll(dice, sizes[i] - parts[i] + 1);
    }
    long whole = extent_of(child);
    for (int i = 0; i < dims; i++) whole *= sizes[i];
    for (int element = 0; element < times; element++) {
        long place = 0, rest = element, step = 1;
        for (int i = 0; i < dims; i++) {
            int dim = order ? dims - 1 - i : i; /* the fastest first */
            place += (starts[dim] + rest % parts[dim]) * step;
            rest /= parts[dim];
            step *= sizes[dim];
        }
        take(type, child, place * extent_of(child));
    }
    type->has_lb = type->has_ub = true;
    type->lb_marker = 0;
    type->ub_marker = whole;
    MAKE(MPI_Type_create_subarray(dims, sizes, parts, starts, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child->handle,
                                &type->handle),
       "MPI_Type_create_subarray(%d, %s, %s, %s, %s, %s, &%s)", dims, list(dims, sizes), list(dims, parts),
       list(dims, starts), order ? "MPI_ORDER_C" : "MPI_ORDER_FORTRAN", child->name, type->name);
    return type;
}

/* A structure of blocks, each of a type of its own. */
static struct type *structure(struct dice *dice, struct blocks *b, struct type *const child[])
{
    struct type *type = bare();
    MPI_Datatype handles[BLOCKS];
    char names[400] = "";
    long step[BLOCKS];
    int align = 1;
    for (int i = 0; i < b->n; i++) {
        handles[i] = child[i]->handle;
        step[i] = extent_of(child[i]);
        align = (int)most(align, child[i]->align);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", child[i]->name);
    }
    draw_places(dice, b, step, align, true);
    for (int i = 0; i < b->n; i++) take_block(type, child[i], b->at[i], b->length[i]);
    MAKE(MPI_Type_create_struct(b->n, b->length, b->at, handles, &type->handle),
       "MPI_Type_create_struct(%d, %s, %s, (MPI_Datatype[]){%s}, &%s)", b->n, list(b->n, b->length),
       list_of_aints(b->n, b->at), names, type->name);
    long rest = extent_of(type) % align;
    return wishes.agreed && rest ? instead(type, resized(type, lb_of(type), extent_of(type) + align - rest)) : type;
}

/* Blocks of one type, some of which have been resized. */
static struct type *structure_of_one(struct dice *dice, int times, struct type *child)
{
    struct blocks b;
    struct type *parts[BLOCKS];
    draw_lengths(dice, &b, times, roll(dice, 2));
    for (int i = 0; i < b.n; i++) {
        parts[i] = child;
        if (roll(dice, 2)) parts[i] = resized(child, lb_of(child), extent_of(child) + child->align * (long)roll(dice,
            3));
    }
    struct type *type = structure(dice, &b, parts);
    for (int i = 0; i < b.n; i++) if (parts[i] != child) free_type(parts[i]);
    return type;
}

static struct type *realize(struct dice *dice, const struct signature *signature);

static struct type *realize_repeat(struct dice *dice, int times, struct type *child)
{
    switch (roll(dice, 6)) {
    case 0: return contiguous(times, child);
    case 1: return vector(dice, times, child);
    case 2: return subarray(dice, times, child);
    case 3: return structure_of_one(dice, times, child);
    default: return indexed(dice, times, child);
    }
}

static struct type *realize(struct dice *dice, const struct signature *signature)
{
    if (signature->kind == BASIC) return wrapped(dice, basic_type(signature->basic));
    struct type *made, *child[PARTS];
    for (int i = 0; i < signature->parts; i++) child[i] = fit_for_parts(realize(dice, signature->part[i]));
    if (signature->kind == REPEAT) made = realize_repeat(dice, signature->times, child[0]);
    else {
        struct blocks b = {.n = signature->parts};
        for (int i = 0; i < b.n; i++) b.length[i] = 1;
        made = structure(dice, &b, child);
    }
    for (int i = 0; i < signature->parts; i++) free_type(child[i]);
    return fit_for_parts(wrapped(dice, made));
}

static int by_place(const void *a, const void *b)
{
    long x = ((const struct entry *)a)->at, y = ((const struct entry *)b)->at;
    return x < y ? -1 : x > y;
}

bool elements_apart(const struct type *type, long elements)
{
    long extent = labs(extent_of(type)), span = type->high - type->low;
    if (!type->entries) return true;
    if (elements > 1 && (extent == 0 || span / extent > 64)) return false;
    elements = elements > 1 ? span / extent + 2 : 1;
    struct entry *all = malloc((size_t)elements * (size_t)type->entries * sizeof *all);
    long n = 0;
    for (long i = 0; i < elements; i++)
        for (int j = 0; j < type->entries; j++)
            all[n++] = (struct entry){type->map[j].at + i * extent, type->map[j].bytes};
    qsort(all, (size_t)n, sizeof *all, by_place);
    bool apart = true;
    for (long i = 1; i < n; i++) apart &= all[i - 1].at + all[i - 1].bytes <= all[i].at;
    free(all);
    return apart;
}

static struct type *plain(const struct signature *signature)
{
    static const struct dice still;
    struct dice dice = still;
    if (signature->kind == BASIC) return basic_type(signature->basic);
    struct type *made, *child[PARTS];
    for (int i = 0; i < signature->parts; i++) child[i] = fit_for_parts(plain(signature->part[i]));
    if (signature->kind == REPEAT) made = contiguous(signature->times, child[0]);
    else {
        struct blocks b = {.n = signature->parts};
        for (int i = 0; i < b.n; i++) b.length[i] = 1;
        made = structure(&dice, &b, child);
    }
    for (int i = 0; i < signature->parts; i++) free_type(child[i]);
    /* No element reaches into the next, in whatever order the parts lie. */
    return instead(made, resized(made, made->low,
        (made->high - made->low + made->align - 1) / made->align * made->align));
}

static void same(const struct type *type, const char *what, long got, long expected)
{
    if (got != expected) failed("%s of %s is %ld, expected %ld", what, type->name, got, expected);
}

/* Compares what the library says of it. */
static void check_bounds(const struct type *type)
{
    MPI_Aint lb, extent;
    MPI_Count size;
    DO(MPI_Type_get_extent(type->handle, &lb, &extent), "MPI_Type_get_extent(%s, &lb, &extent)", type->name);
    same(type, "the lower bound", lb, lb_of(type));
    same(type, "the extent", extent, extent_of(type));
    DO(MPI_Type_get_true_extent(type->handle, &lb, &extent), "MPI_Type_get_true_extent(%s, &lb, &extent)", type->name);
    same(type, "the true lower bound", lb, type->low);
    same(type, "the true extent", extent, type->high - type->low);
    DO(MPI_Type_size_x(type->handle, &size), "MPI_Type_size_x(%s, &size)", type->name);
    same(type, "the size", size, type->bytes);
}

/* Says whether elements take much more memory than what they carry. */
static bool too_wide(const struct type *type, long elements)
{
    long widest = type->high - type->low + elements * labs(extent_of(type));
    return widest > 8 * type->bytes * elements + (16 << 10);
}

/* Perhaps the same with elements that go backwards, lie in one place, or follow each other closely. */
static struct type *rebound(struct dice *dice, struct type *type)
{
    int how = roll(dice, 6), align = type->align;
    long span = (type->high - type->low + align - 1) / align * align;
    if (how > 2 || !type->entries) return type;
    long extent = how == 0 ? -span : how == 1 ? 0 : align * (roll(dice, 5) - 2);
    return instead(type, resized(type, type->low + align * (roll(dice, 3) - 1), extent));
}

/* A datatype that will do, of some that are tried; NULL if none will. */
static struct type *random_type(struct dice *dice, const struct signature *signature, long elements, bool apart,
    bool unbound)
{
    bool foreseen = dry;
    for (int i = 0; i < TRIES; i++) {
        struct dice before = *dice;
        dry = true;
        struct type *type = realize(dice, signature);
        if (unbound) type = rebound(dice, type);
        bool fits = (unbound || extent_of(type) > 0) && !too_wide(type, elements);
        fits = fits && (!apart || elements_apart(type, unbound ? elements : 2));
        free_type(type);
        dry = foreseen;
        if (!fits) continue;
        type = realize(&before, signature);
        return unbound ? rebound(&before, type) : type;
    }
    return NULL;
}

static struct type *committed(struct type *type)
{
    if (type->unmade) return type;
    if (!type->predefined) DO(MPI_Type_commit(&type->handle), "MPI_Type_commit(&%s)", type->name);
    check_bounds(type);
    return type;
}

struct type *make_plain_type(const struct signature *signature)
{
    return committed(plain(signature));
}

struct type *make_type(struct dice *dice, const struct signature *signature, long elements, bool apart)
{
    struct type *type = wishes.depth >= 0 ? random_type(dice, signature, elements, apart, false) : NULL;
    return committed(type ? type : plain(signature));
}

struct type *make_unbound_type(struct dice *dice, const struct signature *signature, long elements, bool apart)
{
    if (wishes.agreed) return make_type(dice, signature, elements, true);
    struct type *type = wishes.depth >= 0 ? random_type(dice, signature, elements, apart, true) : NULL;
    return committed(type ? type : plain(signature));
}

struct type *foresee_unbound_type(struct dice *dice, const struct signature *signature, long elements, bool apart)
{
    dry = true;
    struct type *type = make_unbound_type(dice, signature, elements, apart);
    dry = false;
    return type;
}

struct type *foresee_plain_type(const struct signature *signature)
{
    dry = true;
    struct type *type = make_plain_type(signature);
    dry = false;
    return type;
}
