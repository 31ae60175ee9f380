/**
 * The maximum number of threads of one kind. With many more, the system may start no other threads, or a load
 * may never end.
 */
export const mostThreads: number = 4096;
