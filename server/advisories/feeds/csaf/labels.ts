// Visibility of CSAF documents by TLP 1 label (CSAF 2.0, 3.2.1.5.2). Pure.

export const openLabels = ["WHITE", "UNLABELED"] as const;
/** Restricted documents, served only to callers who may read them. */
export const closedLabels = ["GREEN", "AMBER", "RED"] as const;

export type CsafLabel = (typeof openLabels)[number] | (typeof closedLabels)[number];

/** Returns true if the label allows publication. "" means that it is not a CSAF document. */
export const isOpenLabel = (label: string): boolean => label === "" || openLabels.some((each) => each === label);

export const labelReason = (label: string): string => `TLP:${label} does not allow publication`;

/** Reasons that concern only publication. */
export const labelReasons = closedLabels.map(labelReason);
