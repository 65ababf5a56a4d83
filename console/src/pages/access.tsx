// Access to a group: the caller's own, the role bindings on the path to it, and who can do what.

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { RoleBinding } from "../../../client/package.ts";
import { AccessPath, identityName } from "../access/access-path.tsx";
import { Ask } from "../access/ask.tsx";
import { BindingForm } from "../access/binding-form.tsx";
import { OwnAccess } from "../access/own-access.tsx";
import { Removal } from "../access/removal.tsx";
import { bindingsAt, createBinding, mine } from "../access/requests.ts";
import { useSend } from "../send.ts";
import { navigate, replaceAddress, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { announce, Failure, Icon, nameOr, Section, Skeleton } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/access.ts";
import { GroupHeading } from "./group-heading.tsx";

interface AccessPageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
}

/** Offers to undo a removal. */
const Removed = ({ binding, parent, onClose }: { readonly binding: RoleBinding; readonly parent: string; readonly onClose: () => void }): ReactNode => {
  const { problems, isSending, send } = useSend();
  const { identityUid, roleUid, expireTime } = binding;
  const button = useRef<HTMLButtonElement>(null);
  // The row with the focus is gone.
  useEffect(() => button.current?.focus(), []);
  const undo = async (): Promise<void> => {
    if (isSending || !(await send(createBinding(parent, { identityUid, roleUid, ...(expireTime === undefined ? {} : { expireTime }) })))) return;
    onClose();
    announce(texts.bindingAdded);
  };
  return (
    <div className="banner plain" role="status">
      <p>
        {texts.removed} <span className="role">{nameOr(binding.role?.name ?? "", roleUid)}</span> {texts.of} {nameOr(identityName(binding), identityUid)}
      </p>
      {problems.message === "" ? null : <p className="problem">{problems.message}</p>}
      <button type="button" className="button" ref={button} onClick={() => void undo()}>
        {texts.undo}
      </button>
      <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
};

export const AccessPage = ({ names, path }: AccessPageProps): ReactNode => {
  const url = useAddress();
  const place = path.at(-1) ?? { uid: "", name: "" };
  const result = useAsk(mine(place.uid));
  const here = useAsk(bindingsAt(place.uid), { onlyKnown: true });
  const [removing, setRemoving] = useState<RoleBinding>();
  const [removed, setRemoved] = useState<RoleBinding>();
  const own = new Set(result.data?.data.capabilities);
  const mayAdd = own.has("role_bindings.create");
  const mayRemove = own.has("role_bindings.delete");
  const lacking = ["role_bindings.create", "role_bindings.delete"].filter((name) => !own.has(name));
  const adding = mayAdd ? url.searchParams.get("add") : null;
  const add = (identity: string): void => navigate(withParameter(url, "add", identity), true);
  const body = (): ReactNode => {
    if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
    if (!result.data) return <Skeleton rows={6} />;
    return (
      <>
        <OwnAccess capabilities={own} />
        {removed ? <Removed key={removed.uid} binding={removed} parent={place.uid} onClose={() => setRemoved(undefined)} /> : null}
        <Section
          title={texts.accessPath}
          action={
            mayAdd ? (
              <button type="button" className="button" onClick={() => add("")}>
                <Icon name="plus" />
                {texts.addBinding}
              </button>
            ) : undefined
          }
        >
          <p className="about section-about">{lacking.length === 0 ? texts.accessPathText : `${texts.accessPathText} ${texts.changeNeeds(lacking)}`}</p>
          <AccessPath names={names} path={path} remove={mayRemove ? setRemoving : undefined} />
        </Section>
        <Ask names={names} path={path} own={own} grantRole={mayAdd ? add : undefined} />
        <SameRequest sent={[result.data.sent, here.data?.sent]} />
      </>
    );
  };
  return (
    <>
      <GroupHeading names={names} path={path} current="access" />
      {body()}
      {adding === null ? null : <BindingForm path={path} identity={adding} onClose={() => replaceAddress(withParameter(url, "add", undefined))} />}
      {removing ? <Removal binding={removing} place={place} onClose={() => setRemoving(undefined)} onRemoved={setRemoved} /> : null}
    </>
  );
};
