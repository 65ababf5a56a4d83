// Changes that would grant a missing capability. Each is rehearsed by the server before the page offers it.

import { type ReactNode, useState } from "react";
import type { Effect, Grant, Role, RoleBinding } from "../../../client/package.ts";
import { type Question, useAsk } from "../api.ts";
import { exactTime } from "../format.ts";
import { announce, Badge, nameOr, Skeleton } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { useRoles } from "../roles.ts";
import { SameRequest } from "../same-request.tsx";
import { usePreview, useSend } from "../send.ts";
import { texts } from "../texts/access.ts";
import { builtInRoles, createBinding, customRoles, extendBinding } from "./requests.ts";
import { nameOfSymbol } from "./symbols.ts";

const extensionMs = 30 * 86_400_000;

/** No further role binding helps against these. */
const blocking: readonly Effect[] = ["EFFECT_SUSPENDED", "EFFECT_NO_IDENTITY", "EFFECT_PENDING", "EFFECT_OUTSIDE_IDENTITY_GROUP"];

export const isBlocked = (grants: readonly Grant[]): boolean => grants.some(({ effect }) => blocking.includes(effect));

interface Cure {
  readonly key: string;
  readonly text: ReactNode;
  readonly rehearsal: Question<RoleBinding>;
  readonly change: Question<RoleBinding>;
}

const Proposal = ({ text, rehearsal, change }: Cure): ReactNode => {
  const { problems, isSending, send } = useSend();
  // Once the change is made, its rehearsal would conflict with it.
  const result = useAsk(rehearsal, { onlyKnown: isSending });
  const sent = usePreview(change);
  const grant = async (): Promise<void> => {
    if (!isSending && (await send(change))) announce(texts.granted);
  };
  const reason = problems.message || (result.error instanceof Error ? result.error.message : "");
  return (
    <li>
      <span>
        {text} {result.data ? <Badge tone="good">{texts.wouldWork}</Badge> : null}
        {result.error ? <Badge tone="warn">{texts.wouldNotWork}</Badge> : null}
      </span>
      {result.data ? (
        <button type="button" className="button" aria-disabled={isSending} onClick={() => void grant()}>
          {texts.makeChange}
        </button>
      ) : null}
      {result.data || result.error ? null : <span className="quiet">{texts.rehearsing}</span>}
      {reason === "" ? null : (
        <p className="problem" role="status">
          <bdi>{reason}</bdi>
        </p>
      )}
      {result.data ? <SameRequest sent={[sent]} /> : null}
    </li>
  );
};

interface CuresProps {
  readonly path: readonly Place[];
  readonly identity: string;
  readonly identityTitle: string;
  readonly capability: string;
  readonly grants: readonly Grant[];
}

export const Cures = ({ path, identity, identityTitle, capability, grants }: CuresProps): ReactNode => {
  const [until] = useState(() => new Date(Date.now() + extensionMs).toISOString());
  const results = [useAsk(builtInRoles()), useAsk(customRoles(path[0]?.uid ?? ""))];
  const roles = useRoles(path);
  const place = path.at(-1) ?? { uid: "", name: "" };
  if (results.some(({ data, error }) => data === undefined && error === null)) return <Skeleton rows={2} />;
  const includes = ({ capabilities }: Role): boolean => capabilities.some((symbol) => nameOfSymbol(symbol) === capability);
  const [smallest] = roles.filter(includes).sort((one, other) => one.capabilities.length - other.capabilities.length);
  const visible = grants.filter(({ hidden }) => !hidden);
  const extensions = visible
    .filter(({ effect }) => effect === "EFFECT_EXPIRED")
    .map(
      ({ bindingUid, roleName, roleUid, groupName, groupUid }): Cure => ({
        key: bindingUid,
        text: (
          <>
            {texts.extend} {nameOr(roleName, roleUid)} {texts.at} {nameOr(groupName, groupUid)} {texts.untilTime(exactTime(until))}
          </>
        ),
        rehearsal: extendBinding(bindingUid, until, true),
        change: extendBinding(bindingUid, until),
      }),
    );
  const elsewhere = visible.filter(({ effect }) => effect === "EFFECT_ELSEWHERE");
  // The role with the fewest capabilities first.
  const roleNames = new Map([
    ...(smallest ? [[smallest.uid, smallest.name] as const] : []),
    ...elsewhere.map(({ roleUid, roleName }) => [roleUid, roleName] as const),
  ]);
  const bindings = [...roleNames].map(
    ([roleUid, name]): Cure => ({
      key: roleUid,
      text: (
        <>
          {texts.grantRole} {nameOr(name, roleUid)} {texts.to} {nameOr(identityTitle, identity)} {texts.at} {nameOr(place.name, place.uid)}
        </>
      ),
      rehearsal: createBinding(place.uid, { identityUid: identity, roleUid }, true),
      change: createBinding(place.uid, { identityUid: identity, roleUid }),
    }),
  );
  const cures = [...extensions, ...bindings].slice(0, 3);
  if (cures.length === 0) return <p className="quiet">{texts.noCure}</p>;
  return (
    <ul className="cures" aria-label={texts.cures}>
      {cures.map((cure) => (
        <Proposal {...cure} key={cure.key} />
      ))}
    </ul>
  );
};
