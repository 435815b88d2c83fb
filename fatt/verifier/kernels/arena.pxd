# Memory that is taken piece by piece and given back all at once.
#
# Whoever opens an arena closes it, on every path. What lives only for one box or one
# rival is taken after a `mark`, and forgotten with `back_to`; the blocks stay for the
# next box, so that a search over many people hardly ever asks the system for memory.
from libc.stdint cimport SIZE_MAX, int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    # Each block is at least twice as large as the one before it.
    MOST_BLOCKS = 48
    FIRST_BLOCK = 65536

cdef struct Arena:
    char* blocks[MOST_BLOCKS]
    size_t sizes[MOST_BLOCKS]
    size_t used
    int current

cdef struct Mark:
    size_t used
    int current


cdef inline void open_arena(Arena* arena) noexcept nogil:
    memset(arena, 0, sizeof(Arena))


cdef inline void close_arena(Arena* arena) noexcept nogil:
    cdef int block
    for block in range(MOST_BLOCKS):
        free(arena.blocks[block])


cdef inline Mark mark(const Arena* arena) noexcept nogil:
    cdef Mark here
    here.used = arena.used
    here.current = arena.current
    return here


cdef inline void back_to(Arena* arena, Mark here) noexcept nogil:
    arena.used = here.used
    arena.current = here.current


cdef inline void* _next_block(Arena* arena, size_t size) except NULL nogil:
    cdef int block = arena.current
    cdef size_t wanted = FIRST_BLOCK
    if arena.sizes[block] != 0:
        wanted = 2 * arena.sizes[block]
        block += 1
    if wanted < size:
        wanted = size
    if block < MOST_BLOCKS and arena.sizes[block] < size:
        # Nothing of a block behind the current one is in use.
        free(arena.blocks[block])
        arena.sizes[block] = 0
        arena.blocks[block] = <char*>malloc(wanted)
        if arena.blocks[block] != NULL:
            arena.sizes[block] = wanted
    if block == MOST_BLOCKS or arena.blocks[block] == NULL:
        with gil:
            raise MemoryError("the search needs more memory than there is")
    arena.current = block
    arena.used = size
    return arena.blocks[block]


cdef inline void* take(Arena* arena, int64_t count, size_t each) except NULL nogil:
    """Return room for so many entries, whose contents are left over from others."""
    cdef size_t size
    cdef void* taken
    if count < 0 or <uint64_t>count > (SIZE_MAX >> 2) // each:
        with gil:
            raise MemoryError("the search needs more memory than there is")
    size = (<size_t>count * each + 15) & ~<size_t>15
    if size == 0:
        size = 16
    if arena.sizes[arena.current] - arena.used < size:
        return _next_block(arena, size)
    taken = arena.blocks[arena.current] + arena.used
    arena.used += size
    return taken


cdef inline void* zeros(Arena* arena, int64_t count, size_t each) except NULL nogil:
    """Return room for so many entries, all bits of which are zero."""
    cdef void* taken = take(arena, count, each)
    memset(taken, 0, <size_t>count * each)
    return taken


cdef inline void* more(
    Arena* arena, const void* old, int64_t count, int64_t size, size_t each
) except NULL nogil:
    """Return room for `size` entries, the first `count` of which are the old ones."""
    cdef void* taken = take(arena, size, each)
    memcpy(taken, old, <size_t>count * each)
    return taken


cdef inline int64_t* integers(Arena* arena, int64_t count) except NULL nogil:
    return <int64_t*>take(arena, count, sizeof(int64_t))


cdef inline int64_t* filled(
    Arena* arena, int64_t count, int64_t value
) except NULL nogil:
    cdef int64_t* taken = integers(arena, count)
    cdef int64_t place
    for place in range(count):
        taken[place] = value
    return taken


cdef inline uint64_t* words(Arena* arena, int64_t count) except NULL nogil:
    return <uint64_t*>zeros(arena, count, sizeof(uint64_t))
