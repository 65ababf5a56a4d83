// Texts about places in the hierarchy.

export const texts = {
  here: "Here",
  applying: "Apply here",
  below: "Here and below",
} as const;
