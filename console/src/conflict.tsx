// A resource that somebody else has changed while its form was open: both versions, and the choice between them.

import { type ReactNode, useState } from "react";
import { type Question, useAsk } from "./api.ts";
import { Failure, Name, Skeleton } from "./parts.tsx";
import { texts } from "./texts/pages.ts";

/** A resource as it was read; a change names its ETag, and is refused if the resource has changed since. */
export interface Version<Resource> {
  readonly resource: Resource;
  readonly etag: string | undefined;
}

/** Label and value of a field. */
export type Shown = readonly [label: string, value: string];

interface Choices<Resource> {
  /** Replaces the values of the form. */
  readonly onTake: (stored: Version<Resource>) => void;
  /** Keeps the values of the form, which then replace the stored ones. */
  readonly onKeep: (stored: Version<Resource>) => void;
}

interface Versioned<Resource, Start> {
  /** The version that the form changes. */
  readonly base: Version<Resource> | Start;
  readonly choices: Choices<Resource>;
}

/**
 * Keeps the version that a form changes.
 *
 * @param version undefined for a form that creates a resource
 * @param fill replaces the values of the form
 * @param clear forgets the conflict
 */
export const useVersion = <Resource, Start extends Version<Resource> | undefined>(
  version: Version<Resource> | Start,
  fill: (resource: Resource) => void,
  clear: () => void,
): Versioned<Resource, Start> => {
  const [base, setBase] = useState(version);
  const onKeep = (stored: Version<Resource>): void => {
    setBase(stored);
    clear();
  };
  const onTake = (stored: Version<Resource>): void => {
    fill(stored.resource);
    onKeep(stored);
  };
  return { base, choices: { onTake, onKeep } };
};

interface ConflictProps<Resource> extends Choices<Resource> {
  readonly read: Question<Version<Resource>>;
  readonly shownOf: (resource: Resource) => readonly Shown[];
  /** The values of the form. */
  readonly mine: readonly Shown[];
}

export const Conflict = <Resource,>({ read, shownOf, mine, onTake, onKeep }: ConflictProps<Resource>): ReactNode => {
  const { data, error, isFetching, refetch } = useAsk(read);
  if (isFetching) return <Skeleton rows={2} />;
  if (error || !data) return <Failure error={error} retry={() => void refetch()} />;
  const stored = data.data;
  const values = new Map(mine);
  const different = shownOf(stored.resource).filter(([label, value]) => values.get(label) !== value);
  return (
    <div className="conflict">
      <table aria-label={texts.bothVersions}>
        <thead>
          <tr>
            <th scope="col">{texts.conflictField}</th>
            <th scope="col">{texts.conflictMine}</th>
            <th scope="col">{texts.conflictStored}</th>
          </tr>
        </thead>
        <tbody>
          {different.map(([label, value]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>
                <Name>{values.get(label) || texts.noValue}</Name>
              </td>
              <td>
                <Name>{value || texts.noValue}</Name>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="states">
        <button type="button" className="button" onClick={() => onTake(stored)}>
          {texts.takeStored}
        </button>
        <button type="button" className="button" onClick={() => onKeep(stored)}>
          {texts.keepMine}
        </button>
      </p>
    </div>
  );
};
