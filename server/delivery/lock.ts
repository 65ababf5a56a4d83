// Taking up events and ending deliveries decide together which event of a subject goes next: what is taken up waits
// behind what is on its way, and what ends lets the next one go. Neither may look while the other is between the two.
// Any number of deliveries end at once, so they share the lock; taking up has it alone.

import { lockAlone, lockTogether, type Write } from "#store";

export const lockNumbering = (rows: Write): Promise<void> => lockAlone(rows, "takingUp");

export const lockCompletion = (rows: Write): Promise<void> => lockTogether(rows, "takingUp");
