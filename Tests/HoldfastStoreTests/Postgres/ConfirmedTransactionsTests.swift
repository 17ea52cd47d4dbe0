import Testing

@testable import HoldfastPostgresStore

@Suite("Transactions that the database has confirmed") struct ConfirmedTransactionsTests {
  private let confirmed = ConfirmedTransactions()

  @Test("are lost where a later number was confirmed before, in whichever order two lanes reported (I2)")
  func order() {
    #expect(!confirmed.areLost(confirmed.last, next: 1, in: "a"))
    confirmed.confirm(8, in: "a")
    confirmed.confirm(7, in: "a")
    let before = confirmed.last
    confirmed.confirm(9, in: "a")
    #expect(!confirmed.areLost(before, next: 9, in: "a"))
    #expect(confirmed.areLost(confirmed.last, next: 9, in: "a"))
  }

  @Test("stay lost until another epoch begins, whatever numbers are given out meanwhile (I2)")
  func staysLost() {
    confirmed.confirm(8, in: "a")
    #expect(confirmed.areLost(confirmed.last, next: 8, in: "a"))
    confirmed.confirm(12, in: "a")
    #expect(confirmed.areLost(confirmed.last, next: 20, in: "a"))
    #expect(!confirmed.areLost(confirmed.last, next: 3, in: "b"))
    confirmed.confirm(4, in: "b")
    #expect(!confirmed.areLost(confirmed.last, next: 5, in: "b"))
  }
}
