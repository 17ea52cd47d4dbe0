import SwiftUI

/// Who is signed in, and how the sync is going.
struct AccountView: View {
  @Environment(AppSession.self) private var session
  @State private var name = ""
  @State private var password = ""

  var body: some View {
    Form {
      Text(session.stateText)
      if let account = session.account, account.isSignedIn {
        Text("Signed in as \(account.name).")
      } else {
        TextField("Name", text: $name)
        SecureField("Password", text: $password)
        Button("Sign in") { session.signIn(name, password, isNew: false) }
        Button("Make an account") { session.signIn(name, password, isNew: true) }
      }
    }
    .navigationTitle("Account")
  }
}
