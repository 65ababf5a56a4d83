// Removes a role binding, after it has shown what the identity loses.

import { type ReactNode, useEffect, useState } from "react";
import type { Role, RoleBinding } from "../../../client/package.ts";
import { ask, useAsk } from "../api.ts";
import { Dialog } from "../dialog.tsx";
import { exactTime } from "../format.ts";
import { Failure, Icon, Name, nameOr, Skeleton } from "../parts.tsx";
import { ancestryOf, type Place, whoAmI } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/access.ts";
import { identityName } from "./access-path.tsx";
import { bindingsOf, deleteBinding, rolesOf, versionOf } from "./requests.ts";
import { usePreview, useSend } from "../send.ts";
import { nameOfSymbol } from "./symbols.ts";

interface Loss {
  readonly lost: readonly string[];
  readonly kept: number;
  /** Bindings below the group are not affected. */
  readonly below: number;
}

const parentOf = (uid: string): string => uid.slice(0, uid.lastIndexOf("/"));

const isValid = ({ expireTime }: RoleBinding): boolean => expireTime === undefined || Date.parse(expireTime) > Date.now();

const lossOf = (binding: RoleBinding, others: readonly RoleBinding[], roles: readonly Role[]): Loss => {
  const capabilities = new Map(roles.map((role) => [role.uid, role.capabilities]));
  const place = parentOf(binding.uid);
  const above = new Set(ancestryOf(place));
  const rest = others.filter((each) => each.uid !== binding.uid && isValid(each));
  const kept = new Set<string>(rest.filter(({ uid }) => above.has(parentOf(uid))).flatMap(({ roleUid }) => capabilities.get(roleUid) ?? []));
  const lost = (capabilities.get(binding.roleUid) ?? []).filter((symbol) => !kept.has(symbol));
  return { lost, kept: kept.size, below: rest.filter(({ uid }) => parentOf(uid).startsWith(`${place}/`)).length };
};

/** Returns the listed role binding with what an update has changed. */
const updated = ({ role, expireTime: _, ...rest }: RoleBinding, now: RoleBinding): RoleBinding => {
  const named = now.role ?? (now.roleUid === rest.roleUid ? role : undefined);
  return { ...rest, roleUid: now.roleUid, ...(now.expireTime === undefined ? {} : { expireTime: now.expireTime }), ...(named ? { role: named } : {}) };
};

interface RemovalProps {
  readonly binding: RoleBinding;
  readonly place: Place;
  readonly onClose: () => void;
  readonly onRemoved: (binding: RoleBinding) => void;
}

const expiryOf = ({ expireTime }: RoleBinding): string => (expireTime === undefined ? texts.noExpiry : exactTime(expireTime));

/** Says what has changed since the page was loaded. */
const Changes = ({ before, now, roles }: { readonly before: RoleBinding; readonly now: RoleBinding; readonly roles: readonly Role[] }): ReactNode => {
  const nameOf = ({ roleUid, role }: RoleBinding): string => role?.name || (roles.find(({ uid }) => uid === roleUid)?.name ?? roleUid);
  const changes = [
    ...(before.roleUid === now.roleUid ? [] : [texts.changedFrom(texts.role, nameOf(before), nameOf(now))]),
    ...(before.expireTime === now.expireTime ? [] : [texts.changedFrom(texts.expires, expiryOf(before), expiryOf(now))]),
  ];
  if (changes.length === 0) return null;
  return (
    <div className="notice" role="alert">
      <p>{texts.bindingChanged}</p>
      {changes.map((change) => (
        <p key={change}>
          <bdi>{change}</bdi>
        </p>
      ))}
    </div>
  );
};

export const Removal = ({ binding: listed, place, onClose, onRemoved }: RemovalProps): ReactNode => {
  const version = useAsk(versionOf(listed.uid));
  const binding = version.data ? updated(listed, version.data.data.binding) : listed;
  const others = useAsk(bindingsOf(binding.identityUid));
  const roleUids = [...new Set([binding, ...(others.data?.data.roleBindings ?? [])].map(({ roleUid }) => roleUid))].sort();
  const roles = useAsk(others.data ? rolesOf(roleUids) : undefined);
  const me = useAsk(whoAmI()).data?.data.subject;
  const { problems, isSending, send } = useSend();
  const sent = usePreview(deleteBinding(binding.uid));
  const [refusal, setRefusal] = useState<string>();
  const { uid } = binding;
  useEffect(() => {
    const stop = new AbortController();
    ask(deleteBinding(uid, { validateOnly: true }), stop.signal).then(
      () => setRefusal(""),
      (thrown: unknown) => {
        if (!stop.signal.aborted) setRefusal(thrown instanceof Error ? thrown.message : String(thrown));
      },
    );
    return () => stop.abort();
  }, [uid]);
  const isReady = refusal === "" && !isSending && version.data !== undefined && !version.isFetching;
  const error = version.error ?? others.error ?? roles.error;
  const loss = others.data && roles.data ? lossOf(binding, others.data.data.roleBindings, roles.data.data.roles) : undefined;
  const title = nameOr(identityName(binding), binding.identityUid);
  const remove = async (): Promise<void> => {
    if (isSending) return;
    if (await send(deleteBinding(uid, { ifMatch: version.data?.data.etag }))) {
      onClose();
      onRemoved(binding);
    } else await version.refetch();
  };
  return (
    <Dialog label={texts.removeBinding} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{texts.removeBinding}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="fields">
        <p className="sentence">
          <span className="role">{nameOr(binding.role?.name ?? "", binding.roleUid)}</span> {texts.of} {title} {texts.at} <Name>{place.name}</Name>
        </p>
        {binding.identityUid === me ? (
          <p className="notice" role="alert">
            {texts.removeOwn}
          </p>
        ) : null}
        <Changes before={listed} now={binding} roles={roles.data?.data.roles ?? []} />
        {error ? <Failure error={error} /> : null}
        {!error && !loss ? <Skeleton rows={2} /> : null}
        {loss ? (
          <div role="status">
            <p>
              <strong>{loss.lost.length === 0 ? texts.losesNothing : texts.loses(loss.lost.length)}</strong> {texts.keeps(loss.kept, loss.below)}
            </p>
            {loss.lost.length === 0 ? null : (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard
              <ul className="lost" tabIndex={0} aria-label={texts.lost}>
                {loss.lost.map((symbol) => (
                  <li key={symbol}>
                    <code>{nameOfSymbol(symbol)}</code>
                  </li>
                ))}
              </ul>
            )}
          </div>
        ) : null}
        {refusal || problems.message ? (
          <p className="notice" role="alert">
            {problems.message || refusal}
          </p>
        ) : null}
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="button" className="button danger" aria-disabled={!isReady} onClick={() => void (isReady && remove())}>
            {texts.removeBinding}
          </button>
        </div>
      </div>
    </Dialog>
  );
};
