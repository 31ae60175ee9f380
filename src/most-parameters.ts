/** The most parameters of a request, or of one of its tensors: each is an object, however few bytes it has. */
export const mostParameters: number = 4096;
