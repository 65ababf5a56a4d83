// The number of rows in docs/attacks.md without a mutant, which may only fall: a new row needs a mutant, or a reason in review.

export const rowsWithoutMutantMax = 106;
