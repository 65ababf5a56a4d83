// Facts about the vulnerabilities of findings: known exploits and exploit predictions. Table changed_vulnerabilities: IDs with changed
// facts or severities, whose findings are to be updated. Triggers fill it. A row is deleted after the findings of all organizations.

import { columns, expression, flag, number, type Read, type RowOf, text, type Write } from "#db";

/** Columns of affected_images. */
export interface FindingFacts {
  readonly severity: string;
  readonly severityRank: number;
  /** "" if the severity is unknown. */
  readonly severityOrigin: string;
  readonly cvssVector: string;
  readonly cvssScore: number;
  readonly epssScore: number;
  readonly exploitAddedDate: string;
  /** "" if there is no known exploit. */
  readonly exploitDueDate: string;
}

/** The due date of a known exploit for which the catalog has none; it sorts after all days. */
export const noDueDate = "none";

const numberCve = columns({ id: text, cve: text });

const knownExploit = columns({ id: text, dateAdded: text, dueDate: text, ransomware: flag });

const exploitPrediction = columns({ id: text, score: number, percentile: number });

export type KnownExploit = RowOf<typeof knownExploit>;
export type ExploitPrediction = RowOf<typeof exploitPrediction>;

export interface ExploitFacts {
  /** Of several facts, the most severe one counts, as in lists of vulnerabilities. */
  knownExploitOf(numbers: readonly string[]): KnownExploit | undefined;
  predictionOf(numbers: readonly string[]): ExploitPrediction | undefined;
}

const greatest = <T>(all: readonly T[], keyOf: (one: T) => readonly (string | number)[]): T | undefined => {
  const isAbove = (one: T, other: T): boolean => {
    const [left, right] = [keyOf(one), keyOf(other)];
    const at = left.findIndex((value, index) => value !== right[index]);
    return at >= 0 && (left[at] ?? "") > (right[at] ?? "");
  };
  return all.reduce<T | undefined>((most, each) => (most === undefined || isAbove(each, most) ? each : most), undefined);
};

/** Reads facts about these IDs of vulnerabilities, and about the CVE IDs of public records with them: public ones, and the organization's. */
export const readExploitFacts = async (rows: Read, root: string, numbers: readonly string[]): Promise<ExploitFacts> => {
  const given = [...new Set(numbers)];
  const named = await numberCve.find(
    rows,
    `select ${numberCve.list} from unnest($1::text[]) as given(number) cross join lateral (
       select named.id, named.cve from vulnerability_cves as named where named.owner = '' and named.id = given.number offset 0) as found`,
    [given],
  );
  const cvesOf = Map.groupBy(named, ({ id }) => id);
  const cves = [...new Set([...given.filter((each) => each.startsWith("CVE-")), ...named.map(({ cve }) => cve)])];
  const visible = "shown and (owner = '' or left(owner, 40) = $2)";
  const exploits = await knownExploit.find(
    rows,
    `select ${knownExploit.list} from unnest($1::text[]) as given(cve) cross join lateral (
       select id, date_added, due_date, ransomware from known_exploits where id = given.cve and ${visible} offset 0) as found`,
    [cves, root],
  );
  const predictions = await exploitPrediction.find(
    rows,
    `select ${exploitPrediction.list} from unnest($1::text[]) as given(cve) cross join lateral (
       select id, score, percentile from exploit_predictions where id = given.cve and ${visible} offset 0) as found`,
    [cves, root],
  );
  const [exploitsOf, predictionsOf] = [Map.groupBy(exploits, ({ id }) => id), Map.groupBy(predictions, ({ id }) => id)];
  const allOf = <T>(of: ReadonlyMap<string, readonly T[]>, ids: readonly string[]): T[] =>
    [...new Set(ids.flatMap((id) => [id, ...(cvesOf.get(id) ?? []).map(({ cve }) => cve)]))].flatMap((id) => of.get(id) ?? []);
  return {
    knownExploitOf: (ids) => greatest(allOf(exploitsOf, ids), ({ id, dateAdded, ransomware }) => [Number(ransomware), dateAdded, id]),
    predictionOf: (ids) => greatest(allOf(predictionsOf, ids), ({ id, score }) => [score, id]),
  };
};

// ---- changes ----------------------------------------------------------------------------------------------------

export type ChangedVulnerability = RowOf<typeof changedVulnerability>;

const changedVulnerability = columns({ position: text, id: text });

/** Oldest first. */
export const findChangedVulnerabilities = (rows: Read, limit: number): Promise<ChangedVulnerability[]> =>
  changedVulnerability.find(rows, `select ${changedVulnerability.list} from changed_vulnerabilities order by position limit $1`, [limit]);

/** By position, so that concurrent additions stay. */
export const deleteChangedVulnerabilities = async (rows: Write, positions: readonly string[]): Promise<void> => {
  await rows.query("delete from changed_vulnerabilities where position = any($1::bigint[])", [positions]);
};

const recordOfCve = columns({ id: expression("found.id", text) });

/** Returns these IDs and those of records with one of them as a CVE ID. */
export const findIdsOfRecords = async (rows: Read, ids: readonly string[]): Promise<string[]> => {
  const found = await recordOfCve.find(
    rows,
    `select distinct ${recordOfCve.list} from unnest($1::text[]) as given(cve) cross join lateral (
       select named.id from vulnerability_cves as named where named.owner = '' and named.cve = given.cve offset 0) as found`,
    [ids],
  );
  return [...new Set([...ids, ...found.map(({ id }) => id)])];
};
