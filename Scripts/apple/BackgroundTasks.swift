// Stands in for BackgroundTasks where there is none: the declarations that the client uses, in the form that Apple's has.
open class BGTask {
  open var identifier: String { fatalError() }
  open var expirationHandler: (() -> Void)?
  open func setTaskCompleted(success: Bool) {}
}
