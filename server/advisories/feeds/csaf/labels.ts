// To whom a CSAF document may be shown: the labels of TLP, version 1 (CSAF 2.0, 3.2.1.5.2). Pure.

/** What everybody may see. */
export const openLabels = ["WHITE", "UNLABELED"] as const;
/** What some may see alone: a document of theirs that is not public goes out to them. */
export const closedLabels = ["GREEN", "AMBER", "RED"] as const;

export type CsafLabel = (typeof openLabels)[number] | (typeof closedLabels)[number];

/** Whether everybody may see what is labelled so; "" is no CSAF document. */
export const isOpenLabel = (label: string): boolean => label === "" || openLabels.some((each) => each === label);

export const labelReason = (label: string): string => `TLP:${label} does not allow publication`;
