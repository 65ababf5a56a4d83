// How many rows of docs/attacks.md have no mutant. It may only fall: a new row comes with a mutant, or with a reason in the review.

export const rowsWithoutMutantMax = 108;
