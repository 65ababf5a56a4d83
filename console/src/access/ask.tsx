// Asks who has a capability in a group, or why one identity has or lacks it. The question is in the address.

import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import type { Grant, Holder } from "../../../client/package.ts";
import { isUid, navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { announce, Badge, type Column, Copy, Empty, Expiry, Failure, Icon, Link, Name, nameOr, Pager, Section, Skeleton, Table } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/access.ts";
import { Station } from "./access-path.tsx";
import { Cures, isBlocked } from "./cures.tsx";
import { useIdentities } from "./identities.ts";
import { Picker } from "./picker.tsx";
import { explain, whoCan } from "./requests.ts";

const needed = ["identity.list", "role_bindings.list", "roles.list"];

const isCapability = (text: string): boolean => /^[a-z_]+(?:\.[a-z_]+)*$/.test(text);

const isUidOrNone = (text: string): boolean => text === "" || isUid(text);

const GrantLine = ({ grant }: { readonly grant: Grant }): ReactNode => {
  const gives = grant.effect === "EFFECT_GIVES";
  return (
    <li className={gives ? "grant gives" : "grant"}>
      <Icon name={gives ? "check" : "minus"} />
      <span>
        {grant.hidden ? (
          texts.hiddenGrant
        ) : (
          <>
            <span className="role">{nameOr(grant.roleName, grant.roleUid)}</span> {texts.effects[grant.effect]}
            {grant.effect === "EFFECT_ELSEWHERE" ? <> {nameOr(grant.groupName, grant.groupUid)}</> : null}
          </>
        )}
        {grant.expireTime === undefined ? null : (
          <span className="quiet">
            {" · "}
            {texts.expires} <Expiry time={grant.expireTime} />
          </span>
        )}
      </span>
    </li>
  );
};

interface VerdictProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly identity: string;
  readonly identityTitle: string;
  readonly capability: string;
  readonly grantRole: (() => void) | undefined;
}

/** Explains one identity's permission by the path of groups, with each role binding at its group. */
const Verdict = ({ names, path, identity, identityTitle, capability, grantRole }: VerdictProps): ReactNode => {
  const [isCuring, setCuring] = useState(false);
  const place = path.at(-1)?.uid ?? "";
  const result = useAsk(explain(place, identity, capability));
  const isAllowed = result.data?.data.allowed;
  useEffect(() => {
    if (isAllowed !== undefined) announce(`${identityTitle} ${isAllowed ? texts.has : texts.lacks} ${capability}`);
  }, [isAllowed, identityTitle, capability]);
  if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
  if (!result.data) return <Skeleton rows={3} />;
  const { allowed, capabilities } = result.data.data;
  const grants = capabilities.flatMap((each) => each.grants);
  const onPath = new Set(path.map(({ uid }) => uid));
  const elsewhere = grants.filter(({ groupUid }) => !onPath.has(groupUid));
  return (
    <div className="answer">
      <p className={allowed ? "verdict yes" : "verdict no"}>
        <Icon name={allowed ? "check" : "close"} />
        <span>
          <Name>{identityTitle}</Name> {allowed ? texts.has : texts.lacks} <code>{capability}</code> {texts.inGroup} {nameOr(path.at(-1)?.name ?? "", place)}
        </span>
      </p>
      <ol className="path">
        {path.map((each, index) => {
          const own = grants.filter(({ groupUid }) => groupUid === each.uid);
          return (
            <Station key={each.uid} place={each} names={names.slice(0, index + 1)} isHere={index === path.length - 1}>
              {own.length === 0 ? (
                <p className="quiet station-empty">{allowed ? texts.noGrantHere : texts.noBindingOfIdentity}</p>
              ) : (
                <ul className="grants">
                  {own.map((grant) => (
                    <GrantLine key={grant.bindingUid} grant={grant} />
                  ))}
                </ul>
              )}
            </Station>
          );
        })}
      </ol>
      {elsewhere.length === 0 ? null : (
        <div className="elsewhere">
          <h3>{texts.elsewhere}</h3>
          <ul className="grants">
            {elsewhere.map((grant) => (
              <GrantLine key={grant.bindingUid || grant.effect} grant={grant} />
            ))}
          </ul>
        </div>
      )}
      {allowed || !grantRole ? null : (
        <div className="cure">
          <p>{isBlocked(grants) ? texts.blocked : texts.cure(capability)}</p>
          {isBlocked(grants) || isCuring ? null : (
            <button type="button" className="button" onClick={() => setCuring(true)}>
              {texts.findCure}
            </button>
          )}
          <button type="button" className="button" onClick={grantRole}>
            {texts.addBinding}
          </button>
          {isCuring && !isBlocked(grants) ? (
            <Cures path={path} identity={identity} identityTitle={identityTitle} capability={capability} grants={grants} />
          ) : null}
        </div>
      )}
      <SameRequest sent={[result.data.sent]} />
    </div>
  );
};

type Row = Holder & { readonly uid: string };

const holderColumns = (url: URL): readonly Column<Row>[] => [
  {
    title: texts.identity,
    cell: ({ identityUid, name, email }) => (
      <span className="digest">
        <Icon name="user" />
        <Link
          href={withParameters(url, { identity: identityUid, skip: undefined })}
          isSamePage
          // This link leaves the page with its table.
          onClick={() => document.querySelector<HTMLElement>(".ask .primary")?.focus({ preventScroll: true })}
        >
          {nameOr(name || email, identityUid)}
        </Link>
        <Copy text={identityUid} what="uid" />
      </span>
    ),
  },
  {
    title: texts.through,
    cell: ({ grants }) => (
      <ul className="through">
        {grants.map((grant) => (
          <li key={grant.bindingUid || grant.roleName || "hidden"}>
            {grant.hidden ? (
              texts.hiddenGrant
            ) : (
              <>
                <span className="role">{nameOr(grant.roleName, grant.roleUid)}</span> {grant.groupUid === "" ? texts.everywhere : texts.at}{" "}
                {grant.groupUid === "" ? null : nameOr(grant.groupName, grant.groupUid)}
              </>
            )}
            {grant.effect === "EFFECT_PENDING" ? <Badge tone="warn">{texts.pending}</Badge> : null}
          </li>
        ))}
      </ul>
    ),
  },
];

const Holders = ({ place, capability }: { readonly place: string; readonly capability: string }): ReactNode => {
  const url = useAddress();
  const result = useAsk(whoCan(place, capability, positionIn(url, "skip")));
  const { totalCount: found } = result.data?.data ?? {};
  useEffect(() => {
    if (found !== undefined) announce(`${texts.holders(Number(found))} ${capability}`);
  }, [found, capability]);
  if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
  if (!result.data) return <Skeleton rows={3} />;
  const { holders, totalCount = "0" } = result.data.data;
  const total = Number(totalCount);
  return (
    <div className="answer">
      <p className="verdict">
        <Icon name="user" />
        <span>
          {texts.holders(total)} <code>{capability}</code>
        </span>
      </p>
      {total === 0 ? (
        <Empty icon="key" title={texts.nobodyTitle}>
          <p>{texts.nobodyText}</p>
        </Empty>
      ) : (
        <Table caption={texts.whoCan} columns={holderColumns(url)} items={holders.map((holder): Row => ({ ...holder, uid: holder.identityUid }))} />
      )}
      <Pager total={total} parameter="skip" what={texts.whoCan} />
      <SameRequest sent={[result.data.sent]} />
    </div>
  );
};

interface AskProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly own: ReadonlySet<string>;
  readonly grantRole: ((identity: string) => void) | undefined;
}

export const Ask = ({ names, path, own, grantRole }: AskProps): ReactNode => {
  const url = useAddress();
  const [asked, about] = [url.searchParams.get("capability") ?? "", url.searchParams.get("identity") ?? ""];
  const [capability, setCapability] = useState(asked);
  const [identity, setIdentity] = useState(about);
  const [isTried, setTried] = useState(false);
  const { choices, onType } = useIdentities(path, about);
  useEffect(() => {
    setCapability(asked);
    setIdentity(about);
  }, [asked, about]);
  const lacking = needed.filter((name) => !own.has(name));
  if (lacking.length > 0)
    return (
      <Section title={texts.ask}>
        <Empty icon="key" title={texts.askDenied}>
          <p>{texts.needs(lacking)}</p>
        </Empty>
      </Section>
    );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setTried(true);
    if (isCapability(capability) && isUidOrNone(identity))
      navigate(withParameters(url, { capability, identity: identity || undefined, skip: undefined }), true);
  };
  // Problems of an address show at once, others when the form is sent.
  const isShown = isTried || (asked !== "" && asked === capability && about === identity);
  const title = choices.find(({ value }) => value === about)?.title ?? about;
  return (
    <Section title={texts.ask}>
      <form className="ask" onSubmit={submit} noValidate>
        <Picker
          label={texts.capability}
          hint={texts.capabilityHint}
          problem={isShown && !isCapability(capability) ? texts.capabilityRequired : undefined}
          value={capability}
          choices={[...own].map((name) => ({ value: name, title: name }))}
          onChange={setCapability}
          required
        />
        <Picker
          label={texts.identity}
          hint={texts.askIdentityHint}
          problem={isShown && !isUidOrNone(identity) ? texts.identityUnknown : undefined}
          value={identity}
          choices={choices}
          onChange={setIdentity}
          onType={onType}
        />
        <button type="submit" className="button primary">
          {identity === "" ? texts.askWho : texts.askWhy}
        </button>
      </form>
      {!isCapability(asked) || !isUidOrNone(about) ? null : about === "" ? (
        <Holders place={path.at(-1)?.uid ?? ""} capability={asked} />
      ) : (
        <Verdict
          key={`${about} ${asked}`}
          names={names}
          path={path}
          identity={about}
          identityTitle={title}
          capability={asked}
          grantRole={grantRole ? () => grantRole(about) : undefined}
        />
      )}
    </Section>
  );
};
