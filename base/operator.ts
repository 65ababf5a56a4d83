// The identity of the machine's owner, the same in every installation; only its token is secret.

/** The first 40 hexadecimal digits of the SHA-256 of "gantry identity operator". */
export const operatorUid = "d1f883d3a8cc795817684afec901fd65a53103b5";
