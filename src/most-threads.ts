/** The most threads of a kind that a server is asked for. With many more a system starts no others, or a load never ends. */
export const mostThreads: number = 4096;
