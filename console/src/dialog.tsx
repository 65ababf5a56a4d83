// A dialog above the page. The browser keeps the focus inside, and gives it back at the end.

import { type ReactNode, useLayoutEffect, useRef } from "react";

interface DialogProps {
  readonly label: string;
  readonly className: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export const Dialog = ({ label, className, onClose, children }: DialogProps): ReactNode => {
  const place = useRef<HTMLDialogElement>(null);
  // A layout effect ends while the element is in the page, so that the browser can move the focus.
  useLayoutEffect(() => {
    const dialog = place.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={place}
      aria-label={label}
      className={className}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === place.current) onClose();
      }}
    >
      <div className="dialog-body">{children}</div>
    </dialog>
  );
};
