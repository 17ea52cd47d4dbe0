// Stands in for SwiftUI where there is none: the declarations that the client and the examples use, in the form that Apple's has, with nothing
// behind them. Source: <https://developer.apple.com/documentation/swiftui>.
@_exported public import Combine
@_exported public import Foundation
@_exported public import Observation

// MARK: Views

@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
  public typealias Body = Never
  public var body: Never { fatalError("Nothing is shown.") }
}

/// A view without a body.
public protocol Primitive: View where Body == Never {}

extension Primitive {
  public var body: Never { fatalError("Nothing is shown.") }
}

@resultBuilder
public enum ViewBuilder {
  public static func buildBlock() -> EmptyView { EmptyView() }
  public static func buildExpression<V: View>(_ view: V) -> V { view }
  public static func buildBlock<each V: View>(_ views: repeat each V) -> TupleView<(repeat each V)> {
    TupleView((repeat each views))
  }
  public static func buildBlock<V: View>(_ view: V) -> V { view }
  public static func buildIf<V: View>(_ view: V?) -> V? { view }
  public static func buildEither<A: View, B: View>(first: A) -> ConditionalView<A, B> { .first(first) }
  public static func buildEither<A: View, B: View>(second: B) -> ConditionalView<A, B> { .second(second) }
}

public struct EmptyView: Primitive {
  public nonisolated init() {}
}

public struct TupleView<Views>: Primitive {
  public nonisolated init(_ views: Views) {}
}

public enum ConditionalView<A: View, B: View>: Primitive { case first(A), second(B) }

extension Optional: View where Wrapped: View {
  public typealias Body = Never
  public var body: Never { fatalError("Nothing is shown.") }
}

extension Optional: Primitive where Wrapped: View {}

public struct Group<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
}

public struct Text: Primitive {
  public init(_ text: some StringProtocol) {}
}

public struct Spacer: Primitive {
  public init() {}
}

public struct VStack<Content: View>: Primitive {
  public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) {}
}

public struct HStack<Content: View>: Primitive {
  public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content
  ) {}
}

public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public enum VerticalAlignment: Sendable { case top, center, bottom }

public struct List<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
}

extension List {
  public init<Data: RandomAccessCollection, Row: View>(
    _ data: Data, @ViewBuilder rowContent: @escaping (Data.Element) -> Row
  ) where Content == ForEach<Data, Data.Element.ID, Row>, Data.Element: Identifiable {}
}

public struct Form<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
}

public struct Section<Content: View>: Primitive {
  public init(@ViewBuilder content: () -> Content) {}
  public init(_ title: some StringProtocol, @ViewBuilder content: () -> Content) {}
}

/// Views that are made of data.
public protocol DynamicViewContent: View {}

extension DynamicViewContent {
  public func onMove(perform action: ((IndexSet, Int) -> Void)?) -> some DynamicViewContent { self }
  public func onDelete(perform action: ((IndexSet) -> Void)?) -> some DynamicViewContent { self }
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content>: Primitive, DynamicViewContent {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content)
  where Content: View, Data.Element: Identifiable, ID == Data.Element.ID {}
  public init(
    _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
  ) where Content: View {}
}

public struct Button<Label: View>: Primitive {
  public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) where Label == Text {}
  public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
}

public struct Menu<Content: View>: Primitive {
  public init(_ title: some StringProtocol, @ViewBuilder content: () -> Content) {}
}

public struct TextField<Label: View>: Primitive {
  public init(_ title: some StringProtocol, text: Binding<String>) where Label == Text {}
}

public struct SecureField<Label: View>: Primitive {
  public init(_ title: some StringProtocol, text: Binding<String>) where Label == Text {}
}

public struct NavigationStack<Root: View>: Primitive {
  public init(@ViewBuilder root: () -> Root) {}
}

public struct NavigationLink<Label: View, Destination: View>: Primitive {
  public init(@ViewBuilder destination: () -> Destination, @ViewBuilder label: () -> Label) {}
  public init(_ title: some StringProtocol, @ViewBuilder destination: () -> Destination) where Label == Text {
  }
}

public struct Font: Sendable {
  public static let title = Font()
  public static let caption = Font()
}

extension View {
  public func font(_ font: Font?) -> some View { self }
  public func disabled(_ disabled: Bool) -> some View { self }
  public func navigationTitle(_ title: some StringProtocol) -> some View { self }
  public func environment<T: AnyObject & Observable>(_ object: T?) -> some View { self }
  public func environment<V>(_ keyPath: WritableKeyPath<EnvironmentValues, V>, _ value: V) -> some View { self }
  public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some View { self }
  public func onSubmit(_ action: @escaping () -> Void) -> some View { self }
  public func task(
    priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View { self }
  public func alert(
    _ title: some StringProtocol, isPresented: Binding<Bool>, @ViewBuilder actions: () -> some View,
    @ViewBuilder message: () -> some View
  ) -> some View { self }
}

// MARK: State

@propertyWrapper
public struct State<Value> {
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public var wrappedValue: Value {
    get { fatalError("Nothing is kept.") }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { fatalError("Nothing is kept.") }
}

@propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
  public init(
    get: @escaping @isolated(any) @Sendable () -> Value,
    set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {}
  public var wrappedValue: Value {
    get { fatalError("Nothing is kept.") }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { self }
  public subscript<Part>(dynamicMember path: WritableKeyPath<Value, Part>) -> Binding<Part> {
    fatalError("Nothing is kept.")
  }
}

/// A property wrapper whose storage a view owns.
public protocol DynamicProperty {
  mutating func update()
}

extension DynamicProperty {
  public mutating func update() {}
}

@MainActor @preconcurrency @propertyWrapper
public struct StateObject<ObjectType: ObservableObject>: DynamicProperty {
  public nonisolated init(wrappedValue thunk: @autoclosure @escaping () -> ObjectType) {}
  public var wrappedValue: ObjectType { fatalError("Nothing is kept.") }
  public nonisolated mutating func update() {}
}

public protocol EnvironmentKey {
  associatedtype Value
  static var defaultValue: Value { get }
}

public struct EnvironmentValues: Sendable {
  public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
    get { fatalError("Nothing is kept.") }
    set { fatalError("Nothing is kept.") }
  }
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

extension EnvironmentValues {
  public var scenePhase: ScenePhase { fatalError("Nothing is shown.") }
}

@propertyWrapper
public struct Environment<Value>: DynamicProperty {
  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
  public init(_ type: Value.Type) where Value: AnyObject & Observable {}
  public var wrappedValue: Value { fatalError("Nothing is kept.") }
}

// MARK: Apps

@MainActor @preconcurrency
public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
  @MainActor @preconcurrency init()
}

extension App {
  @MainActor public static func main() {}
}

@MainActor @preconcurrency
public protocol Scene {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@resultBuilder
public enum SceneBuilder {
  public static func buildBlock<S: Scene>(_ scene: S) -> S { scene }
}

public struct WindowGroup<Content: View>: Scene {
  public init(@ViewBuilder content: () -> Content) {}
  public var body: Never { fatalError("Nothing is shown.") }
}
